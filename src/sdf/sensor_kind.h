/* The kinds of sensors: one row for each, with all that is known of a kind before a file is read. Code that does
 * something for a kind has its functions in a table of its own, by the same index.
 *
 * Pure; any thread. */
#ifndef SDF_SENSOR_KIND_H
#define SDF_SENSOR_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sdf_sensor_kind {
	SDF_SENSOR_UNKNOWN, /* a type that SDF does not know */
	SDF_AIR_PRESSURE,
	SDF_AIR_SPEED,
	SDF_ALTIMETER,
	SDF_BOUNDINGBOX_CAMERA,
	SDF_CAMERA,
	SDF_CONTACT,
	SDF_CUSTOM,
	SDF_DEPTH_CAMERA,
	SDF_FORCE_TORQUE,
	SDF_GPU_LIDAR,
	SDF_IMU,
	SDF_LIDAR,
	SDF_LOGICAL_CAMERA,
	SDF_MAGNETOMETER,
	SDF_MULTICAMERA,
	SDF_NAVSAT,
	SDF_RFID,
	SDF_RFIDTAG,
	SDF_RGBD_CAMERA,
	SDF_SEGMENTATION_CAMERA,
	SDF_SONAR,
	SDF_THERMAL_CAMERA,
	SDF_WIDE_ANGLE_CAMERA,
	SDF_WIRELESS_RECEIVER,
	SDF_WIRELESS_TRANSMITTER,
};

enum {
	SENSOR_KINDS = SDF_WIRELESS_TRANSMITTER + 1,
	SENSOR_KIND_NAMES_MAX = 2,
	SENSOR_KIND_SETTINGS_MAX = 4,
	SENSOR_KIND_SIGNALS_MAX = 9,
	SENSOR_KIND_TOPICS_MAX = 4,
	SENSOR_KIND_COLUMNS_MAX = 10,
};

enum sensor_kind_sense {
	SENSOR_KIND_SILENT,   /* it is read from files, and not simulated */
	SENSOR_KIND_MOTION,   /* the motion of its link, and what is around it */
	SENSOR_KIND_WRENCH,   /* what a joint exerts; the others belong to links */
	SENSOR_KIND_CONTACTS, /* of its link */
	SENSOR_KIND_RANGES,   /* to visuals */
	SENSOR_KIND_PICTURES, /* of visuals, with one camera */
	SENSOR_KIND_MODELS,   /* by their places */
};

enum { /* bits: what the pictures of a camera hold */
	SENSOR_DEPTH = 1,
	SENSOR_COLOUR = 2,
	SENSOR_LABELS = 4,
	SENSOR_HEAT = 8,
	/* of a camera whose file asks for these (<troupe:truth>), see sensor_kind_truths */
	SENSOR_NORMALS = 16,
	SENSOR_FLOW = 32,
	SENSOR_SEGMENTS = 64,
};

/* Where the settings have the noise and the range of a signal. */
struct sensor_kind_signal {
	const char *group, *part; /* part: in the group; "": the group itself */
};

struct sensor_kind_topic {
	const char *last;   /* what Gazebo puts behind the sensor's path when the file names no topic */
	const char *suffix; /* behind a topic that the file names; NULL: a camera's parameters, which lie beside it */
	const char *type;   /* of the messages */
};

struct sensor_kind {
	const char *names[SENSOR_KIND_NAMES_MAX]; /* as <sensor type>: the present name, and an older or a short one */
	const char *settings[SENSOR_KIND_SETTINGS_MAX]; /* the elements that may hold its settings */
	uint32_t cameras;                               /* the most that it may have in <camera>; 0: it is no camera */
	enum sensor_kind_sense senses;
	uint32_t picture;                                           /* bits SENSOR_DEPTH ...; 0: it takes no pictures */
	struct sensor_kind_signal signals[SENSOR_KIND_SIGNALS_MAX]; /* by their index in sdf_settings.signals */
	struct sensor_kind_topic topics[SENSOR_KIND_TOPICS_MAX];    /* last NULL: no more */
	/* The names of the numbers of a summary (sensor/summary.h), which are columns of logs; none: it has no
	 * summary. */
	const char *columns[SENSOR_KIND_COLUMNS_MAX];
};

/* What a camera of any kind may show beside its pictures: the words of <troupe:truth>. */
enum { SENSOR_TRUTHS = 3 };
struct sensor_kind_truth {
	const char *word;
	uint32_t part; /* SENSOR_NORMALS ... */
	struct sensor_kind_topic topic;
};
extern const struct sensor_kind_truth sensor_kind_truths[SENSOR_TRUTHS];

/* The row of SDF_SENSOR_UNKNOWN has no names, and nothing else. */
const struct sensor_kind *sensor_kind_of(enum sdf_sensor_kind kind);
/* The kind with this name; SDF_SENSOR_UNKNOWN: there is none. */
enum sdf_sensor_kind sensor_kind_find(const char *type);
/* Whether the settings of the kind may lie in an element of this name. */
bool sensor_kind_has_settings(enum sdf_sensor_kind kind, const char *element);
uint32_t sensor_kind_signal_count(enum sdf_sensor_kind kind);
uint32_t sensor_kind_topic_count(enum sdf_sensor_kind kind);
uint32_t sensor_kind_column_count(enum sdf_sensor_kind kind);
/* The last part of the names of its topics without what tells them apart, "segmentation"; "": there is no such. It ends
 * with *ret_bytes. */
const char *sensor_kind_topic_stem(enum sdf_sensor_kind kind, int *ret_bytes);

static inline bool sensor_kind_is_lidar(enum sdf_sensor_kind kind)
{
	return sensor_kind_of(kind)->senses == SENSOR_KIND_RANGES;
}

#endif
