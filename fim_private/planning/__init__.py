"""Planning: what each mechanism needs in order to succeed, from public parameters alone. No data is
read here.

plan    A plan: what each mechanism needs, and which to take; of users, what share of the true top
        is found.
advice  What to ask instead where too little came out: a line of the planner, by what a request then
        needs.
"""
