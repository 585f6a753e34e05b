/* The header that OpenPMIx' examples want and that libpmix-dev does not bring: a lock on which a caller waits
 * for its callback, and what is collected beside it. Names and members are those that the examples use. */
#ifndef EXAMPLES_H
#define EXAMPLES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <pmix_common.h>

typedef struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    volatile bool active;
    pmix_status_t status;
    int count;
    size_t evhandler_ref;
} mylock_t;

static inline void lock_construct(mylock_t *lock) {
    memset(lock, 0, sizeof(*lock));
    pthread_mutex_init(&lock->mutex, NULL);
    pthread_cond_init(&lock->changed, NULL);
    lock->active = true;
}
static inline void lock_wait(mylock_t *lock) {
    pthread_mutex_lock(&lock->mutex);
    while (lock->active)
        pthread_cond_wait(&lock->changed, &lock->mutex);
    pthread_mutex_unlock(&lock->mutex);
}
static inline void lock_wake(mylock_t *lock) {
    pthread_mutex_lock(&lock->mutex);
    lock->active = false;
    pthread_cond_broadcast(&lock->changed);
    pthread_mutex_unlock(&lock->mutex);
}
static inline void lock_destruct(mylock_t *lock) {
    pthread_cond_destroy(&lock->changed);
    pthread_mutex_destroy(&lock->mutex);
}
#define DEBUG_CONSTRUCT_LOCK(l) lock_construct(l)
#define DEBUG_DESTRUCT_LOCK(l) lock_destruct(l)
#define DEBUG_WAIT_THREAD(l) lock_wait(l)
#define DEBUG_WAKEUP_THREAD(l) lock_wake(l)

typedef struct {
    volatile bool active;
    mylock_t lock;
    pmix_info_t *info;
    size_t ninfo;
} myquery_data_t;
#define DEBUG_CONSTRUCT_MYQUERY(q) (memset((q), 0, sizeof(*(q))), lock_construct(&(q)->lock))
#define DEBUG_DESTRUCT_MYQUERY(q) lock_destruct(&(q)->lock)

typedef struct {
    mylock_t lock;
    char *nspace;
    int exit_code;
    bool exit_code_given;
} myrel_t;
#define DEBUG_CONSTRUCT_MYREL(r) (memset((r), 0, sizeof(*(r))), lock_construct(&(r)->lock))
#define DEBUG_DESTRUCT_MYREL(r) (lock_destruct(&(r)->lock), free((r)->nspace))

static inline void examples_unused(int first, ...) {
    (void)first;
}
#define EXAMPLES_HIDE_UNUSED_PARAMS(...) examples_unused(0, __VA_ARGS__)

#endif
