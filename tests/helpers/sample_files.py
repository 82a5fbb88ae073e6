"""Small valid files that several tests start from."""

GOLD = """
# fetch gold, avoid n
name    gold run
start   u0
success done
failure lost
u0 -> u1   when a & !n  reward 0
u0->lost   when n
u0 -> u0   otherwise    reward -d(a)
u1 -> done when b       reward 10000
u1 -> u1   otherwise    reward 10 - 2*d(b)   # comment
"""

REFERENCE = """0 # initial state
[2] # terminal state
(0,0,'!a&!f',ConstantRewardFunction(0))
(0,1,'a',ConstantRewardFunction(0))
(0,2,"f",ConstantRewardFunction(-0.5))
(1,1,'!b',ConstantRewardFunction(0))
(1,2,'b',ConstantRewardFunction(1))"""
