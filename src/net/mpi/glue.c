/* The module around the MPI library: it translates each call, and keeps the communicator. MPI is one for each process,
 * so this is the one place that has variables of the process. Messages have a communicator of their own, so that they
 * cannot meet those of another user of MPI in this process.
 *
 * The count of a message travels with it: next() takes the message out of the queue (MPI_Improbe), so no other message
 * can come between the count and the bytes. */
#include "net/mpi/glue.h"

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { TAG = 1 };

/* The words of a glue_message. */
struct pending {
	MPI_Request request;
	MPI_Message message;
};
_Static_assert(sizeof(struct pending) <= sizeof(((struct glue_message *)0)->words), "a message has room for it");

static struct pending mpi_glue_pending_of(const struct glue_message *message)
{
	struct pending pending;
	memcpy(&pending, message->words, sizeof pending);
	return pending;
}

static void mpi_glue_keep(struct glue_message *message, bool out, const struct pending *pending)
{
	message->out = out;
	memcpy(message->words, pending, sizeof *pending);
}

static MPI_Comm mpi_glue_all;
static volatile sig_atomic_t mpi_glue_was_continued;

static void mpi_glue_on_continue(int signal)
{
	(void)signal;
	mpi_glue_was_continued = 1;
}

static bool mpi_glue_continued(void)
{
	return mpi_glue_was_continued;
}

static bool mpi_glue_explain(const char *what, int code, char *why)
{
	char text[MPI_MAX_ERROR_STRING] = "";
	int count;
	if (code == MPI_SUCCESS)
		return true;
	(void)MPI_Error_string(code, text, &count);
	(void)snprintf(why, GLUE_WHY_BYTES, "%s: %.200s", what, text);
	return false;
}

static bool mpi_glue_count_ranks(struct mpi_place *ret_place, char *why)
{
	MPI_Comm here;
	return mpi_glue_explain("MPI_Comm_dup", MPI_Comm_dup(MPI_COMM_WORLD, &mpi_glue_all), why) &&
	       mpi_glue_explain(
		       "MPI_Comm_set_errhandler", MPI_Comm_set_errhandler(mpi_glue_all, MPI_ERRORS_RETURN), why) &&
	       mpi_glue_explain("MPI_Comm_rank", MPI_Comm_rank(mpi_glue_all, &ret_place->rank), why) &&
	       mpi_glue_explain("MPI_Comm_size", MPI_Comm_size(mpi_glue_all, &ret_place->ranks), why) &&
	       mpi_glue_explain("MPI_Comm_split_type",
		       MPI_Comm_split_type(mpi_glue_all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here), why) &&
	       mpi_glue_explain("MPI_Comm_size", MPI_Comm_size(here, &ret_place->neighbours), why);
}

static bool mpi_glue_init(struct mpi_place *ret_place, char *why)
{
	int level = MPI_THREAD_SINGLE;
	if (!mpi_glue_explain("MPI_Init_thread", MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level), why))
		return false;
	(void)MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	if (level < MPI_THREAD_SERIALIZED) {
		(void)snprintf(why, GLUE_WHY_BYTES,
			"the MPI library serves one thread only: expected MPI_THREAD_SERIALIZED or more");
		return false;
	}
	struct sigaction action = {.sa_handler = mpi_glue_on_continue, .sa_flags = SA_RESTART};
	(void)sigaction(SIGCONT, &action, NULL);
	return mpi_glue_count_ranks(ret_place, why);
}

static void mpi_glue_finalize(void)
{
	(void)MPI_Finalize();
}

static bool mpi_glue_send(int rank, const void *bytes, size_t count, struct glue_message *ret_message, char *why)
{
	struct pending pending = {MPI_REQUEST_NULL, MPI_MESSAGE_NULL};
	int code = MPI_Isend(bytes, (int)count, MPI_BYTE, rank, TAG, mpi_glue_all, &pending.request);
	mpi_glue_keep(ret_message, code == MPI_SUCCESS, &pending);
	return mpi_glue_explain("MPI_Isend", code, why);
}

static bool mpi_glue_next(int rank, bool *ret_there, size_t *ret_count, struct glue_message *ret_message, char *why)
{
	struct pending pending = {MPI_REQUEST_NULL, MPI_MESSAGE_NULL};
	MPI_Status status;
	int there = 0, count = 0;
	*ret_there = false;
	if (!mpi_glue_explain(
		    "MPI_Improbe", MPI_Improbe(rank, TAG, mpi_glue_all, &there, &pending.message, &status), why))
		return false;
	if (!there)
		return true;
	if (!mpi_glue_explain("MPI_Get_count", MPI_Get_count(&status, MPI_BYTE, &count), why))
		return false;
	mpi_glue_keep(ret_message, true, &pending);
	*ret_count = (size_t)count;
	*ret_there = true;
	return true;
}

static bool mpi_glue_receive(void *bytes, size_t count, struct glue_message *message, char *why)
{
	struct pending pending = mpi_glue_pending_of(message);
	int code = MPI_Imrecv(bytes, (int)count, MPI_BYTE, &pending.message, &pending.request);
	mpi_glue_keep(message, code == MPI_SUCCESS, &pending);
	return mpi_glue_explain("MPI_Imrecv", code, why);
}

static bool mpi_glue_done(struct glue_message *message, bool *ret_done, char *why)
{
	struct pending pending = mpi_glue_pending_of(message);
	int done = 0;
	int code = MPI_Test(&pending.request, &done, MPI_STATUS_IGNORE);
	mpi_glue_keep(message, !done && code == MPI_SUCCESS, &pending);
	*ret_done = done;
	return mpi_glue_explain("MPI_Test", code, why);
}

extern const struct mpi_glue troupe_mpi_glue;
__attribute__((visibility("default"))) const struct mpi_glue troupe_mpi_glue = {
	.version = GLUE_VERSION,
	.init = mpi_glue_init,
	.continued = mpi_glue_continued,
	.finalize = mpi_glue_finalize,
	.send = mpi_glue_send,
	.next = mpi_glue_next,
	.receive = mpi_glue_receive,
	.done = mpi_glue_done,
};
