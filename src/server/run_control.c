/* A client may be a program of another author, on another machine if the user allows this. So a client can save a state
 * only in one folder that the user of the run has chosen. It gives a plain name, and the name of a file that is no
 * state is refused. A run makes a limited number of files, and replaces them as often as clients ask for it. */
#include "server/run_control.h"

#include "topic/message.h"
#include "topic/plain.pb-c.h"
#include "topic/world.pb-c.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RUN_CONTROL_NAME_BYTES_MAX = 200, RUN_CONTROL_FILES_MAX = 1000 };

static troupe_status run_control_server_control(struct server_world *world, const ProtobufCMessage *request,
	char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	const Gz__Msgs__ServerControl *control = (const void *)request;
	const struct {
		bool given;
		const char *name;
	} others[] = {{*control->save_world_name || *control->save_filename, "saving (see /world/NAME/save)"},
		{*control->open_filename, "opening another world"}, {control->new_world, "a new world"},
		{control->clone || control->new_port, "a second server"}};
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (others[i].given)
			return fail(error, TROUPE_ECOMMAND, "%s is not supported here: expected stop: true",
				others[i].name);
	if (!control->stop)
		return fail(error, TROUPE_ECOMMAND, "nothing is asked for: expected stop: true");
	troupe_server_stop(world->server);
	(void)snprintf(note, EDIT_NOTE_BYTES, "the run ends");
	return TROUPE_OK;
}

const struct query_ops run_control_stop_ops = {.act = run_control_server_control};

/* --- saving ------------------------------------------------------------------------------------------------------- */

static bool run_control_is_plain(const char *name)
{
	size_t length = strlen(name);
	return length && length <= RUN_CONTROL_NAME_BYTES_MAX && *name != '.' && *name != '-' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == length;
}

/* *ret_new: there is no such file. */
static troupe_status run_control_check_file(const char *path, bool *ret_new, struct troupe_error *error)
{
	char head[SAVE_HEAD_BYTES];
	int file = AGAIN(open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
	*ret_new = file < 0 && errno == ENOENT;
	if (*ret_new)
		return TROUPE_OK;
	ssize_t count = file < 0 ? -1 : AGAIN(read(file, head, sizeof head));
	if (file >= 0)
		close(file);
	if (count > 0 && server_is_state(head, (size_t)count))
		return TROUPE_OK;
	return fail(
		error, TROUPE_EIO, "%s: it exists, and is not a state saved by troupe: expected another name", path);
}

static troupe_status run_control_save_into(
	struct troupe_server *server, const char *path, char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	bool new;
	troupe_status status = run_control_check_file(path, &new, error);
	if (!status && new && server->client_files == RUN_CONTROL_FILES_MAX)
		status = fail(error, TROUPE_ELIMIT, "%s: clients have saved %d files: expected no more", path,
			RUN_CONTROL_FILES_MAX);
	if (!status)
		status = troupe_server_save(server, path, error);
	if (status)
		return status;
	server->client_files += new;
	(void)snprintf(note, EDIT_NOTE_BYTES, "the state of step %" PRIu64 " is saved: %s",
		primary_steps(server->worlds[0].primary), path);
	return TROUPE_OK;
}

troupe_status run_control_path(const struct troupe_server *server, const char *name, const char *verb, char **ret_path,
	struct troupe_error *error)
{
	if (!server->def.save_folder)
		return fail(error, TROUPE_ECOMMAND,
			"clients cannot %s states: expected a run with a folder for them (--save-dir)", verb);
	if (!run_control_is_plain(name))
		return fail(error, TROUPE_ECOMMAND,
			"'%.80s': expected the name of a file, of 1 to %d letters, digits, '.', '_' and '-', which "
			"begins with a letter, a digit or '_'",
			name, RUN_CONTROL_NAME_BYTES_MAX);
	*ret_path = mem_printf("%s/%s", server->def.save_folder, name);
	return TROUPE_OK;
}

static troupe_status run_control_save(struct server_world *world, const ProtobufCMessage *request,
	char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	char *path = NULL;
	const char *name = ((const Gz__Msgs__StringMsg *)(const void *)request)->data;
	troupe_status status = run_control_path(world->server, name, "save", &path, error);
	if (!status)
		status = run_control_save_into(world->server, path, note, error);
	free(path);
	return status;
}

const struct query_ops run_control_save_ops = {.act = run_control_save};
