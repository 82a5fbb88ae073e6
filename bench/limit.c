/* The limit: QRM, CRM and HRM for one run, written by hand in C as fast as we could make it.
 *
 * `python -m fastrm.bench speed` builds this with  cc -O3 -march=native -ffp-contract=off  and measures the kernels
 * against it. The same generator, the same choices, the same updates and the same book-keeping as the kernels, so the
 * tables it learns must equal theirs to the bit; the suite checks that before it prints a ratio.
 *
 * Tuned by measurement: all state in registers, next cell and event in one 64-bit load, a branch-free choice, the four
 * action values of QRM and blocks of four machine states of CRM and HRM in AVX registers.
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
    const u32 *next_s, *event, *delta; /* [n_s][4], [n_s][4], [n_e][n_cols] */
    const double *own, *reward;        /* [n_e][n_cols]: logged, learned from */
    const uint8_t *outcome;            /* [n_e][n_cols]: 1 is success */
    u64 n_s, n_u, n_cols, n_quiet, start, first_u;
    const int64_t *first; /* HRM: options of a state, [n_u + 1] */
    const u32 *owner;     /* HRM: state an option leaves, [n_o] */
    const u32 *ends;      /* HRM: [n_e][n_ocols] */
    const double *earns;  /* HRM: [n_e][n_ocols] */
    u64 n_o, n_ocols;
    double alpha, gamma, controller_alpha;
    u64 explore_below, limit, seed, steps, tick, window;
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

#define SEED(seed)                                                                                                     \
    u64 s0 = splitmix64((seed) + 0x9E3779B97F4A7C15u), s1 = splitmix64((seed) + 2 * 0x9E3779B97F4A7C15u)
#define DRAW(r)                                                                                                        \
    u64 r = rotl(s0 + s1, 17) + s0;                                                                                    \
    s1 ^= s0;                                                                                                          \
    s0 = rotl(s0, 49) ^ s1 ^ (s1 << 21);                                                                               \
    s1 = rotl(s1, 28)

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

/* next cell and event of a move in one word */
static u64 *pack_moves(const Job *job) {
    u64 *moves = malloc(job->n_s * 4 * sizeof(u64));
    for (u64 k = 0; k < job->n_s * 4; k++) moves[k] = (u64)job->event[k] << 32 | job->next_s[k];
    return moves;
}

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
static Book open_book(const Job *job) {
    return (Book){calloc(job->window, sizeof(double)), 0.0, 0, 0, job->window};
}
static Result finish(const Job *job, Book *book, u64 *moves, double last) {
    Result result = {book->episodes, book->completions, book->banked, last};
    free(book->ring);
    free(moves);
    (void)job;
    return result;
}

/* what is stored: 0 in place of numbers below the normal ones */
static inline double normal(double value) {
    return __builtin_fabs(value) < DBL_MIN ? 0.0 : value;
}

/* q[s][n_u + 1][4] */
Result limit_qrm(const Job *job, double *q) {
    fill_choice();
    SEED(job->seed);
    u64 *moves = pack_moves(job);
    Book book = open_book(job);
    const u64 rows = job->n_u + 1, n_cols = job->n_cols, n_u = job->n_u, n_quiet = job->n_quiet;
    const double alpha = job->alpha, gamma = job->gamma;
    u64 s = job->start, u = job->first_u, t = 0;
    double earned = 0, last = 0;
    for (u64 done = 0; done < job->steps; done += job->tick) {
        for (u64 k = 0; k < job->tick; k++) {
            double *here = q + (s * rows + u) * 4;
            DRAW(r);
            u64 a = pick(row_ties(here), r, job->explore_below);
            u64 move = moves[s * 4 + a], s_next = (u32)move, e = move >> 32, u_next = u;
            if (__builtin_expect(e >= n_quiet, 0)) u_next = job->delta[e * n_cols + u];
            double best = max4(q + (s_next * rows + u_next) * 4, 1);
            here[a] = normal(here[a] + alpha * (job->reward[e * n_cols + u] + gamma * best - here[a]));
            earned += job->own[e * n_cols + u];
            t++;
            if (__builtin_expect(u_next == n_u || t == job->limit, 0)) {
                close_episode(&book, t, earned, job->outcome[e * n_cols + u] == 1);
                s_next = job->start, u_next = job->first_u, t = 0, earned = 0;
            }
            s = s_next, u = u_next;
        }
        last = score(&book);
    }
    return finish(job, &book, moves, last);
}

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
static inline Result crm(const Job *job, double *q, const u64 n_cols) {
    fill_choice();
    SEED(job->seed);
    u64 *moves = pack_moves(job);
    Book book = open_book(job);
    const u64 n_u = job->n_u, n_quiet = job->n_quiet;
    const double alpha = job->alpha, gamma = job->gamma;
    u64 s = job->start, u = job->first_u, t = 0;
    double earned = 0, last = 0;
    for (u64 done = 0; done < job->steps; done += job->tick) {
        for (u64 k = 0; k < job->tick; k++) {
            double *here = q + s * 4 * n_cols;
            DRAW(r);
            u64 a = pick(ties(here + u, n_cols), r, job->explore_below);
            u64 move = moves[s * 4 + a], s_next = (u32)move, e = move >> 32, u_next = u;
            double *row = here + a * n_cols, *next = q + s_next * 4 * n_cols;
            if (__builtin_expect(e < n_quiet, 1)) {
                sweep(row, next, n_cols, job->reward + e * n_cols, alpha, gamma);
            } else {
                u_next = job->delta[e * n_cols + u];
                sweep_ordered(row, next, n_u, n_cols, job->delta + e * n_cols, job->reward + e * n_cols, alpha, gamma);
            }
            earned += job->own[e * n_cols + u];
            t++;
            if (__builtin_expect(u_next == n_u || t == job->limit, 0)) {
                close_episode(&book, t, earned, job->outcome[e * n_cols + u] == 1);
                s_next = job->start, u_next = job->first_u, t = 0, earned = 0;
            }
            s = s_next, u = u_next;
        }
        last = score(&book);
    }
    return finish(job, &book, moves, last);
}
Result limit_crm(const Job *job, double *q) {
    return job->n_cols == 4 ? crm(job, q, 4) : crm(job, q, job->n_cols); /* a constant row is one register */
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
static inline Result hrm(const Job *job, double *q, double *controller, const u64 n_ocols) {
    fill_choice();
    SEED(job->seed);
    u64 *moves = pack_moves(job);
    Book book = open_book(job);
    const u64 n_u = job->n_u, n_quiet = job->n_quiet, n_cols = job->n_cols, n_o = job->n_o, NONE = ~(u64)0;
    const double alpha = job->alpha, gamma = job->gamma;
    u64 s = job->start, u = job->first_u, t = 0, o = NONE, o_s = 0;
    double earned = 0, last = 0, gain = 0, discount = 1;
    for (u64 done = 0; done < job->steps; done += job->tick) {
        for (u64 k = 0; k < job->tick; k++) {
            if (__builtin_expect(o == NONE, 0)) {
                DRAW(r);
                o = pick_option(controller + s * n_o, job->first[u], job->first[u + 1], r, job->explore_below);
                o_s = s, gain = 0, discount = 1;
            }
            double *here = q + s * 4 * n_ocols;
            DRAW(r);
            u64 a = pick(ties(here + o, n_ocols), r, job->explore_below);
            u64 move = moves[s * 4 + a], s_next = (u32)move, e = move >> 32, u_next = u;
            double *row = here + a * n_ocols, *next = q + s_next * 4 * n_ocols;
            if (__builtin_expect(e < n_quiet, 1)) {
                sweep(row, next, n_ocols, job->earns + e * n_ocols, alpha, gamma);
            } else {
                u_next = job->delta[e * n_cols + u];
                sweep_ordered(row, next, n_o, n_ocols, job->ends + e * n_ocols, job->earns + e * n_ocols, alpha, gamma);
            }
            gain += discount * job->reward[e * n_cols + u];
            discount *= gamma;
            earned += job->own[e * n_cols + u];
            t++;
            if (__builtin_expect(u_next != u || t == job->limit, 0)) {
                double target = gain;
                if (u_next != n_u) {
                    const double *values = controller + s_next * n_o;
                    double best = values[job->first[u_next]];
                    for (int64_t j = job->first[u_next]; j < job->first[u_next + 1]; j++) best = max2(values[j], best);
                    target += discount * best;
                }
                double *value = controller + o_s * n_o + o;
                *value = normal(*value + job->controller_alpha * (target - *value));
                o = NONE;
                if (u_next == n_u || t == job->limit) {
                    close_episode(&book, t, earned, job->outcome[e * n_cols + u] == 1);
                    s_next = job->start, u_next = job->first_u, t = 0, earned = 0;
                }
            }
            s = s_next, u = u_next;
        }
        last = score(&book);
    }
    return finish(job, &book, moves, last);
}
Result limit_hrm(const Job *job, double *q, double *controller) {
    return job->n_ocols == 4 ? hrm(job, q, controller, 4) : hrm(job, q, controller, job->n_ocols);
}
