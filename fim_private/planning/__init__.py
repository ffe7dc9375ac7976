"""Planning, from public parameters alone: what mechanisms need, and what to ask. It reads no data.

plan      What each mechanism needs to find itemsets, and which to take.
forecast  What share of the most frequent itemsets of users comes out, and what a list brings.
advice    What to ask instead if too little came out.
"""
