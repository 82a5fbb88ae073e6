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

DEADLINE = """
start w
success done
failure late
clock t 0..{top}
w -> r     when a             reward 0  do t = 0
w -> w     otherwise
r -> done  when b & t <= {k}  reward 1
r -> late  when !b & t >= {k}
r -> r     otherwise
"""

COUNTS = """
name    as many
states  u0 u1
start   u0
success done
count   n 0..4
count   m -2..2 saturate
u0 -> u0    when a & n < 4                    do n += 1
u0 -> u1    when b & n > 0        reward n    do m = 2
u0 -> u0    when !(a & n < 4 | b & n > 0)     do m -= 1
u1 -> done  when c & n <= 1       reward 2*m
u1 -> u1    when c & n > 1                    do n -= 1
u1 -> u1    otherwise
"""
