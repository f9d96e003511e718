/* One thread, started for the first job. Its jobs are a list in the order of their arrival. */
#include "server/background.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define BACKGROUND_BYTES_MAX ((size_t)256 << 20)

struct background {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* under the lock */
	struct background_job *first;
	size_t bytes;                      /* of the jobs that wait */
	const struct troupe_client *doing; /* whose job is being done; NULL: none */
	const struct troupe_client *last;  /* whose job was done last; only compared */
	bool has_thread, ends;
	pthread_t thread;
};

struct background *background_create(void)
{
	struct background *background = mem_alloc(sizeof *background);
	pthread_mutex_init(&background->lock, NULL);
	pthread_cond_init(&background->changed, NULL);
	return background;
}

/* Takes the oldest job of another client than the last one off the list; if there is none, the oldest one. */
static struct background_job *background_next(struct background *background)
{
	struct background_job **at = &background->first;
	while (*at && (*at)->client == background->last)
		at = &(*at)->next;
	at = *at ? at : &background->first;
	struct background_job *job = *at;
	*at = job->next;
	return job;
}

static void *background_work(void *arg)
{
	struct background *background = arg;
	pthread_mutex_lock(&background->lock);
	for (;;) {
		while (!background->first && !background->ends)
			pthread_cond_wait(&background->changed, &background->lock);
		if (background->ends)
			break;
		struct background_job *job = background_next(background);
		background->bytes -= job->bytes;
		background->doing = background->last = job->client;
		pthread_mutex_unlock(&background->lock);
		job->run(job, false);
		pthread_mutex_lock(&background->lock);
		background->doing = NULL;
	}
	pthread_mutex_unlock(&background->lock);
	return NULL;
}

void background_destroy(struct background *background)
{
	if (!background)
		return;
	pthread_mutex_lock(&background->lock);
	background->ends = true;
	pthread_cond_signal(&background->changed);
	pthread_mutex_unlock(&background->lock);
	if (background->has_thread)
		(void)pthread_join(background->thread, NULL);
	for (struct background_job *job = background->first; job;) {
		struct background_job *next = job->next;
		job->run(job, true);
		job = next;
	}
	pthread_cond_destroy(&background->changed);
	pthread_mutex_destroy(&background->lock);
	free(background);
}

/* The thread takes no signals: the process has others for that. */
static troupe_status background_start(struct background *background, struct troupe_error *error)
{
	sigset_t all, before;
	sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	int code = pthread_create(&background->thread, NULL, background_work, background);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	background->has_thread = !code;
	return code ? fail(error, TROUPE_ELIMIT, "cannot start a thread: %s", strerror(code)) : TROUPE_OK;
}

static troupe_status background_put(
	struct background *background, struct background_job *job, struct troupe_error *error)
{
	struct background_job **at = &background->first;
	if (job->bytes > BACKGROUND_BYTES_MAX - background->bytes)
		return fail(error, TROUPE_ELIMIT, "requests of %zu bytes wait to be prepared: expected no more",
			background->bytes);
	troupe_status status = background->has_thread ? TROUPE_OK : background_start(background, error);
	if (status)
		return status;
	while (*at)
		at = &(*at)->next;
	job->next = NULL;
	*at = job;
	background->bytes += job->bytes;
	pthread_cond_signal(&background->changed);
	return TROUPE_OK;
}

troupe_status background_add(struct background *background, struct background_job *job, struct troupe_error *error)
{
	pthread_mutex_lock(&background->lock);
	troupe_status status = background_put(background, job, error);
	pthread_mutex_unlock(&background->lock);
	return status;
}

bool background_has(struct background *background, const struct troupe_client *client)
{
	pthread_mutex_lock(&background->lock);
	bool has = background->doing == client;
	for (const struct background_job *job = background->first; job && !has; job = job->next)
		has = job->client == client;
	pthread_mutex_unlock(&background->lock);
	return has;
}

bool background_is_busy(struct background *background)
{
	pthread_mutex_lock(&background->lock);
	bool busy = background->doing || background->first;
	pthread_mutex_unlock(&background->lock);
	return busy;
}
