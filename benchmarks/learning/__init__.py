"""What private learning takes: how many values or rows, measured and as theorems ask for it.

interior_point    A point inside: RecConcave, MajorityPath and the exponential mechanism. A study,
                  with
rec_concave       RecConcave of Beimel, Nissim and Stemmer, as an exact distribution, and what it
                  costs to overlook that a margin has sensitivity 2.
learners          Points, thresholds and boxes; sanitizers of points and thresholds; densities. A
                  study, with
sanitizers        SanPoints and SanThresholds of the same paper.
"""
