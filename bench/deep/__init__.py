"""Deep learners of Stable-Baselines3 on fastrm's machines, with counterfactual experiences and without.

These scripts need torch and Stable-Baselines3, which fastrm does not install; ``.ci/deep`` shows how to get them.
"""
