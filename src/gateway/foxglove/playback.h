/* The playback control of a recording: clients say when it plays, how fast, and which step is shown. All on the thread
 * of the web server, but for playback_create().
 *
 * Times are those of the time line of gateway/play.h. */
#ifndef GATEWAY_FOXGLOVE_PLAYBACK_H
#define GATEWAY_FOXGLOVE_PLAYBACK_H

#include "base/base.h"

struct foxglove_client;
struct playback;
struct foxglove;
struct play;
struct troupe_message;
struct wire_binary;
struct wire_playback;

/* play: the hub's. The caller frees it. */
struct playback *playback_create(struct foxglove *gateway, struct play *play);
/* Another server has the state from now on. */
void playback_moved(struct playback *playback);

void playback_range(const struct playback *playback, struct wire_playback *ret_range);
/* Call it when a client has come. A client without controls could not start the recording, so the recording plays at
 * once, from its beginning if it is at its end. */
void playback_welcome(struct playback *playback, struct foxglove_client *client);
/* A request of the control. */
void playback_obey(struct playback *playback, struct foxglove_client *client, const struct wire_binary *request);
/* Before messages are taken: looks which step is shown. */
void playback_turn(struct playback *playback);
/* When all messages of that step were taken: tells clients what has changed. */
void playback_tell(struct playback *playback);
/* Whether the message tells of a step that is not shown: of one on the way to the step that is asked for. */
bool playback_hides(const struct playback *playback, const struct troupe_message *message);
uint64_t playback_time_of(const struct playback *playback, const struct troupe_message *message);
/* The time of the step that was shown at the last turn. */
uint64_t playback_time(const struct playback *playback);

#endif
