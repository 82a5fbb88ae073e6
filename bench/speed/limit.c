/* The limit: QRM, CRM and HRM, written by hand in C as fast as we could make it, one run at a time or three in turn.
 *
 * `python -m fastrm.bench speed` builds this with  cc -O3 -march=native -ffp-contract=off  and measures the kernels
 * against it. The same generator, the same choices, the same updates and the same book-keeping as the kernels, so the
 * tables it learns must equal theirs to the bit; the suite checks that before it prints a ratio.
 *
 * Tuned by measurement: all state in registers, next cell and event in one 64-bit load, a branch-free choice, the four
 * action values of QRM and blocks of four machine states of CRM and HRM in AVX registers; large tables are prefetched.
 */
#ifdef __AVX2__
#include <immintrin.h>
#endif
#include <float.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t u64;
typedef uint32_t u32;

typedef struct {
    const u64 *moves; /* [n_s][4]: four times the next cell and, in the upper half, the event of a move */
    const u32 *delta; /* [n_e][n_cols] */
    const double *own, *reward;        /* [n_e][n_cols]: logged, learned from */
    const uint8_t *outcome;            /* [n_e][n_cols]: 1 is success */
    u64 n_s, n_u, n_cols, n_quiet, start, first_u;
    const int64_t *first; /* HRM: options of a state, [n_u + 1] */
    const u32 *owner;     /* HRM: state an option leaves, [n_o] */
    const u32 *ends;      /* HRM: [n_e][n_ocols] */
    const double *earns;  /* HRM: [n_e][n_ocols] */
    u64 n_o, n_ocols;
    double alpha, gamma, controller_alpha;
    u64 explore_below, limit, steps, tick, window;
    const u64 *seeds;       /* [n] */
    u64 n, lanes, far;      /* runs, how many of them in turn (1 or 3), and whether to prefetch */
    double *q, *controller; /* of all runs */
    u64 q_size, controller_size;
} Job;

typedef struct {
    u64 episodes, completions;
    double banked, score;
} Result;

static uint8_t CHOICE[2 * 12 * 16]; /* [greedy or exploring][slot][mask of the best] -> action */
static void fill_choice(void) {
    for (int mask = 1; mask < 16; mask++) {
        int candidates[4], n = 0;
        for (int a = 0; a < 4; a++)
            if (mask >> a & 1) candidates[n++] = a;
        for (int slot = 0; slot < 12; slot++) {
            CHOICE[slot * 16 + mask] = candidates[slot * n / 12];
            CHOICE[(12 + slot) * 16 + mask] = slot * 4 / 12;
        }
    }
}

static u64 splitmix64(u64 z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}
static inline u64 rotl(u64 x, int k) { return (x << k) | (x >> (64 - k)); }

#define DRAW(r)                                                                                                        \
    u64 r = rotl(x.s0 + x.s1, 17) + x.s0;                                                                              \
    x.s1 ^= x.s0;                                                                                                      \
    x.s0 = rotl(x.s0, 49) ^ x.s1 ^ (x.s1 << 21);                                                                       \
    x.s1 = rotl(x.s1, 28)

static inline u64 pick(u64 mask, u64 r, u64 explore_below) {
    u64 slot = (((r & 0xFFFFFFFFu) * 12) >> 32) + ((r >> 32) < explore_below ? 12 : 0);
    return CHOICE[slot * 16 + mask];
}
static inline double max2(double x, double y) { return x > y ? x : y; }
static inline double max4(const double *q, u64 stride) {
    return max2(max2(q[0], q[stride]), max2(q[2 * stride], q[3 * stride]));
}
#ifdef __AVX2__
/* which of the four equal the largest; pairs, because crossing the halves of a 256-bit register is slow */
static inline u64 pair_ties(__m128d low, __m128d high) {
    __m128d best = _mm_max_pd(low, high);
    best = _mm_max_pd(best, _mm_permute_pd(best, 1));
    return (u64)_mm_movemask_pd(_mm_cmpeq_pd(low, best)) | (u64)_mm_movemask_pd(_mm_cmpeq_pd(high, best)) << 2;
}
static inline u64 row_ties(const double *q) { return pair_ties(_mm_loadu_pd(q), _mm_loadu_pd(q + 2)); }
static inline u64 ties(const double *q, u64 stride) {
    return pair_ties(_mm_loadh_pd(_mm_load_sd(q), q + stride),
                     _mm_loadh_pd(_mm_load_sd(q + 2 * stride), q + 3 * stride));
}
#else
static inline u64 ties(const double *q, u64 stride) {
    double m = max4(q, stride);
    return (u64)(q[0] == m) | (u64)(q[stride] == m) << 1 | (u64)(q[2 * stride] == m) << 2 |
           (u64)(q[3 * stride] == m) << 3;
}
static inline u64 row_ties(const double *q) { return ties(q, 1); }
#endif

typedef struct {
    double *ring, banked;
    u64 episodes, completions, window;
} Book;

static void __attribute__((noinline)) close_episode(Book *book, u64 t, double earned, int success) {
    book->ring[book->episodes % book->window] = (success ? 1.0 : 0.0) / (double)t;
    book->episodes++;
    book->completions += success;
    book->banked += earned;
}
static double __attribute__((noinline)) score(const Book *book) {
    u64 recent = book->episodes < book->window ? book->episodes : book->window;
    double total = 0;
    for (u64 k = book->episodes - recent; k < book->episodes; k++) total += book->ring[k % book->window];
    return recent ? total / recent : 0.0;
}

/* the local variables of a run, and what belongs to it */
typedef struct {
    u64 s0, s1, s4, u, t, o, o_s; /* s4: four times the cell */
    double earned, gain, discount;
} Lane;
typedef struct {
    double *q, *controller, last;
    Book book;
} Mine;
typedef Lane (*Step)(const Job *, const u64 *, Mine *, Lane, u64);
#define STEP static inline __attribute__((always_inline)) Lane
#define NONE (~(u64)0)

static Lane enter(const Job *job, u64 seed) {
    return (Lane){.s0 = splitmix64(seed + 0x9E3779B97F4A7C15u), .s1 = splitmix64(seed + 2 * 0x9E3779B97F4A7C15u),
                  .s4 = 4 * job->start, .u = job->first_u, .o = NONE, .discount = 1};
}
static Mine own(const Job *job, u64 i) {
    return (Mine){job->q + i * job->q_size, job->controller + i * job->controller_size, 0,
                  {calloc(job->window, sizeof(double)), 0.0, 0, 0, job->window}};
}
static Result finish(Mine *mine) {
    free(mine->book.ring);
    return (Result){mine->book.episodes, mine->book.completions, mine->book.banked, mine->last};
}

/* all runs, three in turn or one by one; inlined with its step, so that lanes are registers */
static inline __attribute__((always_inline)) void drive(const Job *job, Result *results, Step step, const u64 width) {
    fill_choice();
    const u64 *moves = job->moves;
    u64 i = 0;
    const Job here = *job, *world = &here; /* a copy of our own: no store to a table can change it */
    for (; job->lanes == 3 && i + 3 <= job->n; i += 3) {
        Mine a = own(job, i), b = own(job, i + 1), c = own(job, i + 2);
        Lane x = enter(job, job->seeds[i]), y = enter(job, job->seeds[i + 1]), z = enter(job, job->seeds[i + 2]);
        for (u64 done = 0; done < job->steps; done += job->tick) {
            for (u64 k = 0; k < job->tick; k++) {
                x = step(world, moves, &a, x, width);
                y = step(world, moves, &b, y, width);
                z = step(world, moves, &c, z, width);
            }
            a.last = score(&a.book), b.last = score(&b.book), c.last = score(&c.book);
        }
        results[i] = finish(&a), results[i + 1] = finish(&b), results[i + 2] = finish(&c);
    }
    for (; i < job->n; i++) {
        Mine mine = own(job, i);
        Lane x = enter(job, job->seeds[i]);
        for (u64 done = 0; done < job->steps; done += job->tick) {
            for (u64 k = 0; k < job->tick; k++) x = step(world, moves, &mine, x, width);
            mine.last = score(&mine.book);
        }
        results[i] = finish(&mine);
    }
}

/* moves and rows of the four neighbours of a cell; the row of cell s begins at q + 4 s * width */
static inline void fetch_ahead(const Job *job, const u64 *moves, u64 s4, const double *q, u64 width) {
    if (!job->far) return;
    for (u64 a = 0; a < 4; a++) {
        u64 there = (u32)moves[s4 + a];
        __builtin_prefetch(moves + there);
        __builtin_prefetch(q + there * width);
        if (4 * width > 8) __builtin_prefetch(q + there * width + 8);
    }
}

/* what is stored: 0 in place of numbers below the normal ones */
static inline double normal(double value) {
    return __builtin_fabs(value) < DBL_MIN ? 0.0 : value;
}

/* q[u][s][4] */
STEP qrm_step(const Job *job, const u64 *moves, Mine *mine, Lane x, const u64 width) {
    double *column = mine->q + x.u * job->n_s * 4, *here = column + x.s4;
    DRAW(r);
    u64 a = pick(row_ties(here), r, job->explore_below);
    u64 move = moves[x.s4 + a], s4_next = (u32)move, e = move >> 32, u_next = x.u, paid = e * job->n_cols + x.u;
    fetch_ahead(job, moves, s4_next, column, width);
    if (__builtin_expect(e >= job->n_quiet, 0)) {
        u_next = job->delta[paid];
        column = mine->q + u_next * job->n_s * 4;
    }
    double best = max4(column + s4_next, 1);
    here[a] = normal(here[a] + job->alpha * (job->reward[paid] + job->gamma * best - here[a]));
    x.earned += job->own[paid];
    x.t++;
    if (__builtin_expect(u_next == job->n_u || x.t == job->limit, 0)) {
        close_episode(&mine->book, x.t, x.earned, job->outcome[paid] == 1);
        s4_next = 4 * job->start, u_next = job->first_u, x.t = 0, x.earned = 0;
    }
    x.s4 = s4_next, x.u = u_next;
    return x;
}
void limit_qrm(const Job *job, Result *results) { drive(job, results, qrm_step, 1); }

/* update all columns of one row; the event changes none of them */
static inline void sweep(double *row, const double *next, u64 n_cols, const double *reward, double alpha, double gamma) {
#ifdef __AVX2__
    const __m256d va = _mm256_set1_pd(alpha), vg = _mm256_set1_pd(gamma);
    for (u64 v = 0; v < n_cols; v += 4) {
        __m256d best = _mm256_max_pd(
            _mm256_max_pd(_mm256_loadu_pd(next + v), _mm256_loadu_pd(next + n_cols + v)),
            _mm256_max_pd(_mm256_loadu_pd(next + 2 * n_cols + v), _mm256_loadu_pd(next + 3 * n_cols + v)));
        __m256d old = _mm256_loadu_pd(row + v);
        __m256d target = _mm256_add_pd(_mm256_loadu_pd(reward + v), _mm256_mul_pd(vg, best));
        __m256d new = _mm256_add_pd(old, _mm256_mul_pd(va, _mm256_sub_pd(target, old)));
        __m256d is_tiny = _mm256_cmp_pd(_mm256_andnot_pd(_mm256_set1_pd(-0.0), new), _mm256_set1_pd(DBL_MIN), _CMP_LT_OQ);
        _mm256_storeu_pd(row + v, _mm256_andnot_pd(is_tiny, new));
    }
#else
    for (u64 v = 0; v < n_cols; v++)
        row[v] = normal(row[v] + alpha * (reward[v] + gamma * max4(next + v, n_cols) - row[v]));
#endif
}
static void __attribute__((noinline))
sweep_ordered(double *row, const double *next, u64 n, u64 n_cols, const u32 *delta, const double *reward, double alpha,
              double gamma) {
    for (u64 v = 0; v < n; v++)
        row[v] = normal(row[v] + alpha * (reward[v] + gamma * max4(next + delta[v], n_cols) - row[v]));
}

/* q[s][4][n_cols] */
STEP crm_step(const Job *job, const u64 *moves, Mine *mine, Lane x, const u64 n_cols) {
    double *here = mine->q + x.s4 * n_cols;
    DRAW(r);
    u64 a = pick(ties(here + x.u, n_cols), r, job->explore_below);
    u64 move = moves[x.s4 + a], s4_next = (u32)move, e = move >> 32, u_next = x.u;
    fetch_ahead(job, moves, s4_next, mine->q, n_cols);
    double *row = here + a * n_cols, *next = mine->q + s4_next * n_cols;
    const double *reward = job->reward + e * n_cols;
    if (__builtin_expect(e < job->n_quiet, 1)) {
        sweep(row, next, n_cols, reward, job->alpha, job->gamma);
    } else {
        u_next = job->delta[e * n_cols + x.u];
        sweep_ordered(row, next, job->n_u, n_cols, job->delta + e * n_cols, reward, job->alpha, job->gamma);
    }
    x.earned += job->own[e * n_cols + x.u];
    x.t++;
    if (__builtin_expect(u_next == job->n_u || x.t == job->limit, 0)) {
        close_episode(&mine->book, x.t, x.earned, job->outcome[e * n_cols + x.u] == 1);
        s4_next = 4 * job->start, u_next = job->first_u, x.t = 0, x.earned = 0;
    }
    x.s4 = s4_next, x.u = u_next;
    return x;
}
void limit_crm(const Job *job, Result *results) {
    if (job->n_cols == 4) /* a constant row is one register */
        drive(job, results, crm_step, 4);
    else
        drive(job, results, crm_step, job->n_cols);
}

static u64 __attribute__((noinline))
pick_option(const double *values, int64_t first, int64_t last, u64 r, u64 explore_below) {
    int explore = (r >> 32) < explore_below;
    double best = values[first];
    u64 n = 0;
    for (int64_t k = first; k < last; k++) best = max2(values[k], best);
    for (int64_t k = first; k < last; k++) n += explore || values[k] == best;
    u64 skip = (r & 0xFFFFFFFFu) * n >> 32;
    for (int64_t k = first; k < last; k++)
        if ((explore || values[k] == best) && skip-- == 0) return (u64)k;
    return (u64)first;
}

/* q[s][4][n_ocols], controller[s][n_o]; an option ends at the step limit */
STEP hrm_step(const Job *job, const u64 *moves, Mine *mine, Lane x, const u64 n_ocols) {
    const u64 n_u = job->n_u, n_cols = job->n_cols, n_o = job->n_o;
    double *controller = mine->controller;
    if (__builtin_expect(x.o == NONE, 0)) {
        DRAW(r);
        x.o = pick_option(controller + x.s4 / 4 * n_o, job->first[x.u], job->first[x.u + 1], r, job->explore_below);
        x.o_s = x.s4 / 4, x.gain = 0, x.discount = 1;
    }
    double *here = mine->q + x.s4 * n_ocols;
    DRAW(r);
    u64 a = pick(ties(here + x.o, n_ocols), r, job->explore_below);
    u64 move = moves[x.s4 + a], s4_next = (u32)move, e = move >> 32, u_next = x.u, paid = e * n_cols + x.u;
    fetch_ahead(job, moves, s4_next, mine->q, n_ocols);
    double *row = here + a * n_ocols, *next = mine->q + s4_next * n_ocols;
    const double *earns = job->earns + e * n_ocols;
    if (__builtin_expect(e < job->n_quiet, 1)) {
        sweep(row, next, n_ocols, earns, job->alpha, job->gamma);
    } else {
        u_next = job->delta[paid];
        sweep_ordered(row, next, n_o, n_ocols, job->ends + e * n_ocols, earns, job->alpha, job->gamma);
    }
    x.gain += x.discount * job->reward[paid];
    x.discount *= job->gamma;
    x.earned += job->own[paid];
    x.t++;
    if (__builtin_expect(u_next != x.u || x.t == job->limit, 0)) {
        double target = x.gain;
        if (u_next != n_u) {
            const double *values = controller + s4_next / 4 * n_o;
            double best = values[job->first[u_next]];
            for (int64_t j = job->first[u_next]; j < job->first[u_next + 1]; j++) best = max2(values[j], best);
            target += x.discount * best;
        }
        double *value = controller + x.o_s * n_o + x.o;
        *value = normal(*value + job->controller_alpha * (target - *value));
        x.o = NONE;
        if (u_next == n_u || x.t == job->limit) {
            close_episode(&mine->book, x.t, x.earned, job->outcome[paid] == 1);
            s4_next = 4 * job->start, u_next = job->first_u, x.t = 0, x.earned = 0;
        }
    }
    x.s4 = s4_next, x.u = u_next;
    return x;
}
void limit_hrm(const Job *job, Result *results) {
    if (job->n_ocols == 4)
        drive(job, results, hrm_step, 4);
    else
        drive(job, results, hrm_step, job->n_ocols);
}
