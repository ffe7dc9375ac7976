"""How fast itemsets are counted, files are read and whole commands run, and how much memory it
takes.

compare         Counting against every other tool, as it is run, and whole commands: JSON, tables,
                figures and a page.
datasets        What to count in, with minimum supports.
peer_counters   Who counts: ours and every peer, each in its best form.
head_to_head    One contest: all count the same, in turn, and have to agree.
worker          The process in which one of them counts, and
worker_client   its other end, which asks.
process_timing  Time and peak memory of a process.
page            The tables, from the JSON alone: ratios to ours, and where a peer is
                better.
reading         How fast files are read. Run on its own.
cold_start      How long the whole command takes. Run on its own.
"""
