"""What all benchmarks share.

study            Tasks done one by one and remembered, and the sections and tables made of their
                 answers.
published        docs/data: all tables as CSV, and the pages that quote them.
tables           Tables and numbers, and how they are written in Markdown.
figures          The figures of docs, drawn from these tables.
command_line     How options are read, and how a result tells the command.
output_files     Where results go, how they are written, and the machine, versions, commit and day
                 of each.
datasets         Sources: real files, and generated ones. Nothing is read.
support_spectra  The supports that occur in a source, with their multiplicities; and planted ones.
bisection        The least whole number of which a condition holds.
"""
