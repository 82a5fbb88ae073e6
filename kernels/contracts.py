"""Array contracts: what ``fastrm.problems`` and ``fastrm.learners`` guarantee and the kernels trust.

A learner's kernel is called as ``run(setting, state, span)``: what stays the same, what it changes, and how far to go.
"""

from typing import Any, NamedTuple

import numpy as np

N_ACTIONS = 4  # of a grid; worlds of other kinds have 2 to 16

MASK = np.uint16  # a bit per action

LIVE, SUCCESS, FAILURE = 0, 1, 2  # what becomes of an episode

NOTHING = np.uint64(2**64 - 1)  # no previous event, no option

FAR = np.int32(2**30)  # steps where there is no way

TINY = 2.0**-1022  # stored values smaller than this, which processors handle a hundred times slower, become 0

FORGOTTEN = 2.0**-10  # traces smaller than this are dropped

BLOCK = 4  # machine states are laid out in blocks of this many, a SIMD register of doubles


# fmt: off
class Tables(NamedTuple):
    """One map crossed with one or more machines. C-contiguous, read-only.

    The machine states of all machines lie side by side in columns 0 .. n_u - 1. Column n_u stands for every terminal:
    its value is 0 for ever, so a bootstrap from it adds nothing. Columns up to the next multiple of `BLOCK` are
    padding. Events are the classes of moves that no guard and no reward can tell apart. The first n_quiet of them
    change no machine state. The moves of a cell take up `room`, the number of actions rounded up to a multiple of 4.

    A move is an action, n_m = n_a, unless the world gives every action n_k outcomes by chance: then n_m = n_a n_k, the
    k-th outcome of action a is move a n_k + k, and `moves` has room for n_k outcomes of every action.
    """

    next_s:    np.ndarray  # uint32  [n_s, n_m]      where move m leads from cell s
    event:     np.ndarray  # uint32  [n_s, n_m]      the event of that move
    moves:     np.ndarray  # uint64  [n_s * room]    both in one word: room s' in the lower half, the event in the upper
    delta:     np.ndarray  # uint32  [n_e, n_cols]   the column an event leads to from a column
    outcome:   np.ndarray  # uint8   [n_e, n_cols]   LIVE, SUCCESS or FAILURE
    reward:    np.ndarray  # float64 [n_e, n_cols]   what the machine pays; 0 in column n_u and padding
    partial:   np.ndarray  # uint8   [n_e]           does the event leave some column of 0 .. n_u - 1 unreached?
    image:     np.ndarray  # uint8   [n_e, n_cols]   can the event lead to a column?
    first_u:   np.ndarray  # uint32  [n_m]           start column of every machine
    own_score: np.ndarray  # uint8   [n_m]           score episodes by own reward (else 1 for success)
    starts:    np.ndarray  # uint32  [n_starts]      the start cells, of which every episode begins in one
    n_u:       int         #                         machine states, terminals not counted
    n_quiet:   int         #                         events that change no machine state
    chance:    np.ndarray | None = None  # float64 [n_s, n_a, n_k]  probability of every outcome of an action; None, a
                           #                         separate type, where an action is one move


class Rule(NamedTuple):
    """How to learn."""

    alpha:               float      # learning rate
    gamma:               float      # discount
    explore_below:       np.uint64  # explore when the upper half of a draw is below this: floor(epsilon 2^32)
    limit:               np.uint64  # steps after which an episode is cut off
    bootstraps_at_limit: bool       # QRM: also on the step that hits the limit?
    option_survives:     bool       # HRM: does an option outlive the limit?
    prune:               bool       # CRM and HRM: update only what the previous event can lead to?
    controller_alpha:    float      # HRM: learning rate of the controller


class Setting(NamedTuple):
    """What stays the same while runs go on: the same for every learner. Read-only."""

    tables:  Tables            #                        the problem
    tasks:   np.ndarray        # TASK    [n_m]          the machines, which episodes play in turn
    reward:  np.ndarray        # float64 [n_e, n_cols]  what is learned from: the machines' rewards, shaped or not
    rule:    Rule              #                        how to learn
    slip:    np.uint64 | None  #                        a move slips when the upper half of a draw is below this;
                               #                        None, a separate type, where nothing slips
    chance:  np.ndarray | None # uint64  [n_s * room, n_k]  an action has its first outcome whose number here is above
                               #                        32 random bits; None where `Tables.chance` is
    far:     bool | None       #                        fetch ahead what the next step may need? None where the tables
                               #                        of a run lie in the cache
    actions: tuple | None      #                        how many actions there are, as `rows` says; None for four


class Log(NamedTuple):
    """What is recorded; a row per run."""

    ring:        np.ndarray  # float64 [n, window]   scores of the last episodes
    ended:       np.ndarray  # EPISODE [n, room]     the first episodes, as many as there is room for
    episodes:    np.ndarray  # int64   [n, n_ticks]  episodes ended
    completions: np.ndarray  # int64   [n, n_ticks]  ended in success
    reward:      np.ndarray  # float64 [n, n_ticks]  own reward so far
    score:       np.ndarray  # float64 [n, n_ticks]  mean score of the last episodes, NaN before the first


class Watch(NamedTuple):
    """The greedy policy at every tick, on request: the values it acts by, and how long it takes.

    The values are views of those that learners change: nothing is copied.
    """

    q:          np.ndarray         # float64 [n, n_s, n_columns, n_a]  any layout
    twin:       np.ndarray | None  # the same                          double Q-learning: the other table
    first:      np.ndarray | None  # uint64  [n_u + 1]                 HRM: `Options.first`; its columns are options
    controller: np.ndarray | None  # float64 [n, n_s, n_o]             HRM: the controller's values
    tour:       Any                # `Tour`                            coupled learning: what it plans by
    length:     np.ndarray         # float64 [n, n_ticks]              steps, summed over tasks, of each the mean over
                                   #                                   starts; NaN where some are not completed


class State(NamedTuple):
    """What runs change on their way; a row per run. All of it is updated."""

    agents: np.ndarray  # AGENT   [n]              where every run is
    log:    Log         #                          what is recorded of it
    q:      np.ndarray  # float64 [n, ...]         what it has learned, in the layout of the learner's kernel
    own:    Any         #                          what else the learner needs: a NamedTuple of its own, or ()
    watch:  Watch | None = None  #                 the greedy policies; None, a separate type, unless requested


class Span(NamedTuple):
    """How far to go: n_ticks x tick steps of every run."""

    n_ticks: int
    tick:    int
    row:     int  # column of the log for the first tick, negative to log nothing


class Sweep(NamedTuple):
    """CRM's own."""

    width: int | None  #                         n_cols; None, a separate type, where a row is one block
    more:  Any = ()    #                         what else a custom learner on CRM's table keeps: a tuple of its own


class Options(NamedTuple):
    """The options of a problem, ordered by the machine state they leave. C-contiguous, read-only."""

    first:  np.ndarray  # uint64  [n_u + 1]       options first[u] .. first[u + 1] - 1 leave machine state u
    owner:  np.ndarray  # uint32  [n_o]           the machine state an option leaves
    delta:  np.ndarray  # uint32  [n_e, n_cols]   the option itself while it goes on, n_o when it ends
    reward: np.ndarray  # float64 [n_e, n_cols]   what it learns from: the machine's reward, and its own at the end
    image:  np.ndarray  # uint8   [n_e, n_cols]   can an event lead to the machine state it leaves?


class Hierarchy(NamedTuple):
    """HRM's own."""

    options:    Options     #                          what there is to choose from
    controller: np.ndarray  # float64 [n, n_s, n_o]    the controller's values; updated
    width:      int | None  #                          option columns, as CRM's


class Traces(NamedTuple):
    """Q(lambda)'s own: which values an error of the next step also corrects, and by how much. Updated."""

    place:  np.ndarray  # uint64  [n, room]   where in q
    weight: np.ndarray  # float64 [n, room]   its share of the correction
    count:  np.ndarray  # uint64  [n]         how many there are
    decay:  float       #                     what is left of a weight after a step: gamma lambda


class Memory(NamedTuple):
    """Dyna's own: the moves that were made, in the order of their first time. Updated."""

    made:     np.ndarray  # uint32 [n, room]  where in q
    is_made:  np.ndarray  # uint8  [n, room]  by place in q: is it among them?
    count:    np.ndarray  # uint64 [n]        how many there are
    planning: int         #                   updates of such moves after every step


class Columns(NamedTuple):
    """The columns of an agenda: what there is to learn, and which of it may be pursued. C-contiguous, read-only.

    A stage is one object, or type of objects, to stand on; sets of stages are bit masks. An event is a class of moves
    that no column tells apart; event 0 is read by none.
    """

    moves:  np.ndarray  # uint64  [n_s * n_a]     as those of `Tables`, with the events of columns
    reward: np.ndarray  # float64 [n_e, n_cols]   1 where the event completes a column
    reads:  np.ndarray  # uint64  [n_e]           the same as a set of columns
    stage:  np.ndarray  # uint64  [n_k]           the stage of a column
    serves: np.ndarray  # uint64  [n_k]           all stages that reading its object completes, where they are open
    needs:  np.ndarray  # uint64  [n_stages]      the stages that must be done before a stage
    sets:   np.ndarray  # uint64  [n_sets]        all sets of stages that can be left, in increasing order, {} aside;
                        #                         none where there are too many to plan ahead
    opens:  np.ndarray  # uint64  [n_sets]        the columns that may be pursued then
    ready:  np.ndarray  # uint64  [n_sets]        their stages


class Draft(NamedTuple):
    """Room for the plan that is being made. Overwritten, and shared by all runs: one plan is made at a time.

    n_last is that of a `Pursuit`.
    """

    worth:  np.ndarray  # float64 [2^stages * n_last]  V of every set of stages left, after every column and the start
    ahead:  np.ndarray  # float64 [n_k]                V of what is left after each open column of one set
    chosen: np.ndarray  # uint64  [n_k]                those columns


class Pursuit(NamedTuple):
    """Coupled learning's own. Updated, `columns` and `width` aside.

    n_last is n_k + 1, one for every column that may have been completed last and one for the start, rounded up to a
    multiple of `BLOCK`.
    """

    columns: Columns     #                                 what there is to pursue
    left:    np.ndarray  # uint64  [n]                     the stages that are not done; {} before the first episode
    last:    np.ndarray  # uint64  [n]                     the column that left the agenda last, n_k for the start
    cell:    np.ndarray  # uint64  [n, n_k + 1]            where a column last left an agenda, or NOTHING
    leg:     np.ndarray  # float64 [n, n_k * n_last]       values of legs to a column, as the last plan saw them
    choice:  np.ndarray  # uint8   [n, 2^stages * n_last]  the column to pursue with a set left, after a column
    plans:   np.ndarray  # int64   [n]                     plans made
    draft:   Draft       #                                 the plan that is being made
    gamma:   float       #                                 discount
    width:   int | None  #                                 columns of a row, as CRM's


class Tour(NamedTuple):
    """How coupled learning's greedy policies are followed while it learns: its values, and room to plan in."""

    own:     Pursuit     #                 what it learns with; only `draft` is overwritten
    q:       np.ndarray  # float64 [n, .]  `State.q`, flat
    strides: tuple       # uint64  [3]     how far apart cells, columns and actions lie in it
    scratch: tuple       #                 a row each of `choice`, `leg` and `cell` of a `Pursuit`; overwritten


class Labelled(NamedTuple):
    """A world of which labels tell all: what machines that read nothing else are compared on. Read-only.

    A label is a set of propositions that may hold after a move, by number; label 0 is the empty set. An output is what
    a move pays and whether it ends the episode, by number; output 0 pays nothing and ends nothing.
    """

    next_s: np.ndarray  # uint32  [n_s, n_a]  where action a leads from cell s
    label:  np.ndarray  # uint32  [n_s, n_a]  what holds after that move
    starts: np.ndarray  # uint32  [n_starts]  the start cells
    reward: np.ndarray  # float64 [n_o]       what an output pays
    end:    np.ndarray  # uint8   [n_o]       LIVE, SUCCESS or FAILURE


class Trails(NamedTuple):
    """A labelled world as those see it that act in it and remember their moves. C-contiguous, read-only.

    The moves of a cell take up `room`, the number of actions rounded up to a multiple of 4, as in `Tables`.
    """

    moves:      np.ndarray  # uint64  [n_s * room]  room s' in the lower half, the label in the upper
    reward:     np.ndarray  # float64 [n_o]         what an output pays
    end:        np.ndarray  # uint8   [n_o]         LIVE, SUCCESS or FAILURE
    delta:      np.ndarray  # uint32  [n_l * n_u]   the true machine, which is only asked for what it pays
    output:     np.ndarray  # uint32  [n_l * n_u]
    n_u:        int
    first_into: np.ndarray  # int64   [n_s + 1]     the moves into cell s are into[first_into[s]] .. ; s n_a + a each
    into:       np.ndarray  # int64   [n_s * n_a]
    keeps_all:  bool        #                       do traces also keep moves that read and pay nothing?
    walk_below: np.uint64   #                       an episode is a walk when the upper half of a draw is below this


class Guess(NamedTuple):
    """A machine that may be wrong, as CRM learns by it, a row of n_cols per label. Read-only.

    Column n_v is the end: it leads to itself and is worth 0. Columns up to the next multiple of `BLOCK` are padding.
    """

    delta:    np.ndarray  # uint32  [n_l * n_cols]  the column a label leads to
    output:   np.ndarray  # uint32  [n_l * n_cols]  what that gives, by number
    reward:   np.ndarray  # float64 [n_l * n_cols]  what that pays
    image:    np.ndarray  # uint8   [1]             not read: nothing is pruned
    n_v:      int         #                         states
    n_cols:   int
    is_quiet: bool        #                         does label 0 do nothing, by this machine and by the true one?


class Notes(NamedTuple):
    """What a run that learns a machine remembers. Updated."""

    at:      np.ndarray  # LEARNING [1]            where it is
    seen:    np.ndarray  # uint8    [n_s, room]    the moves that it made
    met:     np.ndarray  # uint32   [n_l]          the labels that it met, in the order of their first time
    is_met:  np.ndarray  # uint8    [n_l]          is a label among them?
    toward:  np.ndarray  # uint16   [n_l, n_s]     the actions that begin a shortest way by moves made, a bit each
    labels:  np.ndarray  # uint32   [room]         the trace of this episode
    outputs: np.ndarray  # uint32   [room]


class Mealy(NamedTuple):
    """A machine by label, the true one or a hypothesis; it starts in state 0."""

    delta:  np.ndarray  # uint32  [n_l, n_v]  the state a label leads to from a state; any where the episode ends
    output: np.ndarray  # uint32  [n_l, n_v]  what that gives, by number


AGENT = np.dtype([
    ("rng0",          np.uint64),   # state of the generator
    ("rng1",          np.uint64),
    ("s",             np.uint64),   # cell
    ("u",             np.uint64),   # column of the machine's state
    ("t",             np.uint64),   # steps of this episode
    ("narrow",        np.uint64),   # previous event, if its image limits the next update, or NOTHING
    ("earned",        np.float64),  # own reward of this episode
    ("banked",        np.float64),  # own reward of all episodes before
    ("episodes",      np.int64),
    ("completions",   np.int64),
    ("option",        np.uint64),   # HRM: option in force, SARSA: action that is chosen already; or NOTHING
    ("option_s",      np.uint64),   # HRM: cell where it began
    ("option_return", np.float64),  # HRM: its discounted reward so far
    ("discount",      np.float64),  # HRM: gamma to the number of its steps
], align=True)
"""Where one run is."""

LEARNING = np.dtype([
    ("v",        np.uint64),  # column of the guess
    ("goal",     np.uint64),  # label that a walk heads for, 0 for none
    ("left",     np.uint64),  # steps until it chooses another
    ("walks",    np.uint64),  # is this episode a walk?
    ("n",        np.uint64),  # length of the trace
    ("n_met",    np.uint64),  # labels met
    ("n_seen",   np.uint64),  # moves made, each counted once
    ("known",    np.uint64),  # as many were made when ways were looked for last
    ("episodes", np.uint64),  # episodes since
    ("steps",    np.int64),   # steps made
], align=True)
"""Where a run is that learns a machine, beside its `AGENT`."""

TASK = np.dtype([
    ("first_u",   np.uint64),   # start column
    ("own_score", np.uint64),   # are episodes scored by own reward?
    ("by_total",  np.uint64),   # by what it sums to, above `base`? Else by what is paid per step
    ("base",      np.float64),  # the total that scores 0
    ("optimum",   np.float64),  # the unit of the score
], align=True)
"""One machine."""

EPISODE = np.dtype([
    ("paid",   np.float64),  # what its task paid
    ("length", np.int64),    # its steps
], align=True)
"""One ended episode."""
# fmt: on
