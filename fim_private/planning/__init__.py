"""Planning: what each mechanism needs in order to succeed, from public parameters alone. No data is read here.

plan       A plan: what each mechanism needs, by how many itemsets are asked for, and which to take.
customers  A plan for users: what share of the true top is found, with a product list and without.
advice     What to ask instead where too little came out: a line of the planner, by what a request then needs.
"""
