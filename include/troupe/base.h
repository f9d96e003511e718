/* What every troupe header needs: status codes, and the error text that goes with them.
 *
 * Every function that can fail returns a troupe_status. If it takes a struct troupe_error, it fills it with one line
 * that says what is wrong, where, and what was expected. The pointer to it may be NULL.
 *
 * Other pointers must not be NULL, unless the comment says that they may be, or a count of 0 stands beside them.
 * Texts are UTF-8 and end with a zero byte. A call copies what it needs later, unless the comment says otherwise.
 * Outputs (ret_...) are written on success only.
 *
 * The library never prints and never exits, with one exception: if memory runs out, the process ends with a line
 * "troupe: out of memory" on standard error, and status 4, because a step that is half done cannot return. So no status
 * says that memory ran out. A library that it uses may end the process in another way then (abort()). */
#ifndef TROUPE_BASE_H
#define TROUPE_BASE_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TROUPE_API __attribute__((visibility("default")))
#define TROUPE_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define TROUPE_API
#define TROUPE_PRINTF(f, a)
#endif

/* X(name, text): the only list of status codes. */
#define TROUPE_STATUS_LIST(X)                                                                                          \
	X(OK, "no error")                                                                                              \
	X(EINVAL, "invalid argument")                                                                                  \
	X(EIO, "cannot read or write")                                                                                 \
	X(EWORLD, "bad world")                                                                                         \
	X(ECOMMAND, "bad command")                                                                                     \
	X(ELIMIT, "limit exceeded")                                                                                    \
	X(EPROTOCOL, "protocol violated")                                                                              \
	X(EPEER, "peer lost")                                                                                          \
	X(EDIVERGED, "a model diverged")                                                                               \
	X(EINTERNAL, "internal error")

typedef enum troupe_status {
#define X(name, text) TROUPE_##name,
	TROUPE_STATUS_LIST(X)
#undef X
} troupe_status;

/* The greatest number of secondaries of a world, with any transport: as many as ranks on a few nodes of a cluster. */
enum { TROUPE_SECONDARIES_MAX = 1024, TROUPE_WINDOW_MAX = 1000 };

enum { TROUPE_ERROR_TEXT_BYTES = 512 };

/* Filled on failure only. text is one line without a newline, always terminated. */
struct troupe_error {
	troupe_status status;
	char text[TROUPE_ERROR_TEXT_BYTES];
};

/* A few words for a status; never NULL. */
TROUPE_API const char *troupe_status_text(troupe_status status);

/* "0.1.0" */
TROUPE_API const char *troupe_version(void);

#ifdef __cplusplus
}
#endif
#endif
