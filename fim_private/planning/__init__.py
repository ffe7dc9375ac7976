"""Planning: what each mechanism needs in order to succeed, from public parameters alone. No data is read here.

plan       A plan for one itemset: what each mechanism needs, and which to take.
top_plan   A plan for many itemsets, by how many are asked for.
customers  A plan for users: what share of the true top is found, with a product list and without.
"""
