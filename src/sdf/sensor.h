/* Constant descriptions of sensors, as a file gives them. Nothing is measured here.
 *
 * Format and defaults: sdformat.org/spec, <sensor> of SDF 1.6 to 1.12. A value that is not given has the default that
 * stands beside its field. A value that is not physical (not a number, a negative deviation, a maximum that is not
 * above the minimum, more pixels or rays than the limits below) is refused with file:line; of a word that is not known
 * a warning says which one is used.
 *
 * Ownership: struct sdf. Units: metres, radians, seconds, and the unit of the measured quantity for noise. */
#ifndef SDF_SENSOR_H
#define SDF_SENSOR_H

#include "base/text.h"
#include "geom/geom.h"
#include "sdf/sensor_kind.h"

#include <troupe/reading.h>

#define SDF_RATE_MAX 1e9 /* Hz: a period of 1 ns */
#define SDF_NOISE_MAX 1e30

enum {
	SDF_PIXELS_MAX = 1 << 25, /* of one picture; width and height are at most SDF_WIDTH_MAX */
	SDF_WIDTH_MAX = 1 << 14,
	SDF_RAYS_MAX = 1 << 24, /* of one scan */
	SDF_CHANNELS_MAX = 1 << 12,
	SDF_LIDAR_TABLE_BYTES_MAX = 16 << 20, /* of the file of a <troupe:table> */
	SDF_CAMERAS_MAX = 64,                 /* of one multicamera */
	SDF_TOUCHES_MAX = 1000,               /* collisions of one contact sensor */
};

struct sdf_element;
struct sdf_settings;

enum sdf_noise_kind { SDF_NOISE_NONE, SDF_NOISE_GAUSSIAN, SDF_NOISE_QUANTIZED }; /* "gaussian_quantized" */

/* <noise>: value + N(mean, stddev) + a bias; the bias is drawn once from N(bias_mean, bias_stddev) and walks. */
struct sdf_noise {
	enum sdf_noise_kind kind;
	double mean, stddev;           /* 0 */
	double bias_mean, bias_stddev; /* 0 */
	double walk_stddev;            /* dynamic_bias_stddev, 0: the bias is constant */
	double walk_time_s;            /* dynamic_bias_correlation_time, 0 */
	double precision;              /* of quantized: the step of the output; 0: no steps */
};

/* One measured number and its limits. */
struct sdf_signal {
	struct sdf_noise noise;
	double min, max;   /* <range>; -INFINITY, INFINITY */
	double resolution; /* <range>; 0: not quantized */
};

/* The signals of each kind of sensor, by index. */
enum {                                   /* SDF_IMU: each of these is x, y, z */
	SDF_IMU_ANGULAR_VELOCITY = 0,    /* rad/s */
	SDF_IMU_LINEAR_ACCELERATION = 3, /* m/s2 */
	SDF_IMU_ORIENTATION = 6,         /* rad: roll, pitch, yaw */
};
enum { SDF_FORCE = 0, SDF_TORQUE = 3 };                    /* SDF_FORCE_TORQUE: N and N m, x, y, z each */
enum { SDF_ALTITUDE = 0, SDF_CLIMB = 1 };                  /* SDF_ALTIMETER: m, m/s */
enum { SDF_NAVSAT_POSITION = 0, SDF_NAVSAT_VELOCITY = 2 }; /* SDF_NAVSAT: horizontal, vertical each; m, m/s */
/* SDF_MAGNETOMETER: x, y, z in T. SDF_AIR_PRESSURE, SDF_AIR_SPEED: pressure in Pa. SDF_LIDAR, SDF_GPU_LIDAR: the
 * range in m, whose limits are [0, 0] when the file gives none: nothing is in range. */

struct sdf_scan {                /* <horizontal> or <vertical> of a lidar */
	uint32_t samples;        /* rays, 640 and 1 */
	double resolution;       /* 1: numbers for each ray */
	double min_rad, max_rad; /* 0, 0 */
};

/* How many angles there are, and the difference of two neighbours: samples * resolution, rounded down, at least 1; the
 * last one is the largest. */
uint32_t sdf_scan_count(const struct sdf_scan *scan);
double sdf_scan_step(const struct sdf_scan *scan);

/* The order in which a lidar fires. The ray of a column and a row has the sum of the angles, the times and the rings of
 * both: a column of a head that turns has its azimuth and its time, and a row, which is a laser, its elevation, its
 * azimuth and time beside those of the column, and its ring. Rays that are no grid are columns of one row. */
struct sdf_pattern {
	uint32_t columns, rows;
	uint32_t scans;                       /* after this many scans the pattern begins again, 1 or more */
	double scan_s;                        /* duration of a scan, above 0; no ray is fired later */
	struct troupe_scan_firing *by_column; /* [scans * columns] */
	struct troupe_scan_firing *by_row;    /* [rows] */
};

/* What becomes of the light of a ray; see sensor/scan_beam.h. */
enum { SDF_RETURNS_MAX = 3 };
struct sdf_beam {
	bool intensity;           /* by reflectivity, distance and incidence; otherwise the laser_retro alone */
	double reflectivity;      /* of visuals without laser_retro, 50 */
	double reference_m;       /* up to there the intensity does not fall, 10 */
	double noise_intensity;   /* at which the noise has its deviation; 0: noise does not depend on the intensity */
	double dropout_intensity; /* 0: nothing drops out */
	double attenuation_per_m; /* by rain and fog, 0 */
	uint32_t returns;         /* 1 */
	double divergence_rad;    /* full angle of the beam, 0 */
	double separation_m;      /* returns that are nearer to each other are one, 0.3 */
	const double *table;      /* pairs: intensity and what the sensor reports; rising; NULL: the intensity itself */
	uint32_t table_count;
};

struct sdf_lidar {
	struct sdf_scan horizontal, vertical;
	uint32_t visibility_mask;          /* 0xffffffff */
	const struct sdf_pattern *pattern; /* NULL: that of <scan>, all rays at one time */
	const struct sdf_beam *beam;       /* NULL: a ray has the laser_retro of what it hits; it has a pattern */
	bool motion;                       /* the sensor, and what it sees, move during a scan; it has a pattern */
	bool stamp_start;                  /* messages have the time of the beginning of the scan, and not of its end */
};

enum sdf_lens {
	SDF_LENS_GNOMONICAL,
	SDF_LENS_STEREOGRAPHIC,
	SDF_LENS_EQUIDISTANT,
	SDF_LENS_EQUISOLID,
	SDF_LENS_ORTHOGRAPHIC,
	SDF_LENS_CUSTOM, /* r = c1 f fun(angle / c2 + c3) */
};
enum sdf_lens_function { SDF_LENS_TAN, SDF_LENS_SIN, SDF_LENS_ID };
enum sdf_segmentation { SDF_SEGMENTATION_SEMANTIC, SDF_SEGMENTATION_INSTANCE };
enum sdf_box_kind { SDF_BOX_VISIBLE_2D, SDF_BOX_FULL_2D, SDF_BOX_3D };

/* The pixels of a camera's pictures: R8G8B8, B8G8R8, L8, L16 and the four BAYER formats, with their first pixels. */
enum sdf_pixels {
	SDF_PIXELS_RGB,
	SDF_PIXELS_BGR,
	SDF_PIXELS_GREY8,
	SDF_PIXELS_GREY16,
	SDF_PIXELS_RGGB,
	SDF_PIXELS_BGGR,
	SDF_PIXELS_GBRG,
	SDF_PIXELS_GRBG,
};

struct sdf_camera {
	const char *name;                 /* NULL: none */
	struct pose in_sensor;            /* the camera looks along x, and z is up */
	double fov_rad;                   /* horizontal, 1.047 */
	uint32_t width, height;           /* 320, 240 */
	const char *format;               /* "R8G8B8", or a name of a pixel format of SDF */
	enum sdf_pixels pixels;           /* of SDF_CAMERA by format; of other kinds SDF_PIXELS_RGB */
	uint32_t anti_aliasing;           /* 4; it counts only if the next one is true */
	bool smooth;                      /* the file gives anti_aliasing, of 2 or more */
	double near_m, far_m;             /* 0.1, 100 */
	double depth_near_m, depth_far_m; /* <depth_camera><clip>; those of the picture if not given */
	const char *depth_output;         /* "depths" */
	const char *save_path;            /* NULL: pictures are not saved */
	bool triggered;
	const char *trigger_topic, *info_topic, *optical_frame; /* NULL: none given */
	enum sdf_segmentation segmentation;
	enum sdf_box_kind boxes;
	struct sdf_noise noise;
	double k1, k2, k3, p1, p2; /* <distortion>, 0 */
	double centre_x, centre_y; /* <distortion>, 0.5 of the picture */
	enum sdf_lens lens;        /* SDF_LENS_STEREOGRAPHIC */
	bool lens_to_fov;          /* scale_to_hfov, true */
	double c1, c2, c3, f;      /* <custom_function>, 1 1 0 1 */
	enum sdf_lens_function function;
	double cutoff_rad;                         /* 1.5707 */
	uint32_t environment_size;                 /* env_texture_size, 256 pixels */
	bool intrinsics_given;                     /* the next five, in pixels, replace the field of view */
	double fx, fy, cx, cy, skew;               /* 277 277 160 120 0 */
	bool projection_given;                     /* the next six, in pixels, replace those of the intrinsics in P */
	double p_fx, p_fy, p_cx, p_cy, p_tx, p_ty; /* 277 277 160 120 0 0 */
	uint32_t visibility_mask;                  /* 0xffffffff */
	/* Of a thermal camera: the plug-in ThermalSensor; a pixel counts steps of heat_step_K from 0 K on. */
	double heat_min_K, heat_max_K, heat_step_K;
	uint32_t truth;               /* <troupe:truth>: bits SENSOR_NORMALS ..., 0 */
	bool packed_png;              /* <troupe:compressed>: its compressed pictures are PNG; false: JPEG */
	uint32_t packed_quality;      /* 80, of JPEG */
	double packed_hz;             /* compressed pictures in a second, at most; 0: all */
	double readout_s, exposure_s; /* <troupe:readout_time>, <troupe:exposure_time>; 0, at most SDF_SHUTTER_MAX */
	uint32_t exposure_samples;    /* <troupe:exposure_samples>, 0: by the motion (sensor/picture.h) */
	double gain;                  /* <troupe:gain>, 1: of colours, before the noise */
	double baseline_m;            /* <troupe:baseline>, 0: the first number of P's last column is -p_fx times it */
	const char *topic;            /* <troupe:topic>: of its pictures; NULL: none given */
	const struct sdf_element *element; /* NULL: the file has no <camera>, and all is default */
};
#define SDF_SHUTTER_MAX 10 /* s */
enum { SDF_EXPOSURES_MAX = 256 };

/* How long before its end a reading begins of a lidar or a camera that measures while things move; 0: it measures at
 * once. */
double sdf_sensor_span_s(enum sdf_sensor_kind kind, const struct sdf_settings *settings);

enum sdf_imu_frame { SDF_IMU_CUSTOM, SDF_IMU_NED, SDF_IMU_ENU, SDF_IMU_NWU, SDF_IMU_GRAVITY_UP, SDF_IMU_GRAVITY_DOWN };

struct sdf_imu {
	bool orientation;         /* enable_orientation, true */
	bool reference_given;     /* <orientation_reference_frame>; without it the frame is the sensor's at first */
	enum sdf_imu_frame frame; /* localization */
	struct vec3 rpy;          /* custom_rpy, 0 0 0 */
	const char *rpy_frame;    /* parent_frame of custom_rpy; "": the sensor */
	struct vec3 x_axis;       /* grav_dir_x, 1 0 0 */
	const char *x_axis_frame; /* "": the sensor */
};

enum sdf_wrench_frame { SDF_WRENCH_CHILD, SDF_WRENCH_PARENT, SDF_WRENCH_SENSOR };

struct sdf_force_torque {
	enum sdf_wrench_frame frame;
	bool parent_to_child; /* measure_direction, false */
};

struct sdf_contact {
	const char *const *collisions; /* names, as written */
	uint32_t collision_count;
	const char *topic; /* NULL: none given */
};

/* Whether a name in <contact> means the collision of this link: its own name, or, as in files of Gazebo Classic, a name
 * that ends with LINK::COLLISION. */
bool sdf_names_collision(const char *given, const char *link, const char *collision);

struct sdf_logical_camera {
	double near_m, far_m;         /* 0, 1 */
	double aspect_ratio, fov_rad; /* 1, 1 */
};

struct sdf_sonar {
	bool sphere;                   /* geometry, false: a cone */
	double min_m, max_m, radius_m; /* 0, 1, 0.5 */
};

struct sdf_radio {                                      /* <transceiver> */
	const char *essid;                              /* "wireless" */
	double frequency, min_frequency, max_frequency; /* MHz: 2442, 2412, 2484 */
	double gain_db, power_dbm, sensitivity_dbm;     /* 2.5, 14.5, -90 */
};

/* All settings of a sensor beside its place. */
struct sdf_settings {
	bool always_on, visualize, enable_metrics; /* false */
	const char *topic, *frame_id;              /* NULL: none given */
	const struct sdf_signal *signals;
	uint32_t signal_count;
	const struct sdf_camera *cameras;      /* of the kinds *_CAMERA (but for the logical one) */
	uint32_t camera_count;                 /* 1, or 0 of other kinds */
	union {                                /* by kind; NULL for a kind without settings */
		const struct sdf_lidar *lidar; /* SDF_LIDAR, SDF_GPU_LIDAR */
		const struct sdf_imu *imu;
		const struct sdf_force_torque *force_torque;
		const struct sdf_contact *contact;
		const struct sdf_logical_camera *logical_camera;
		const struct sdf_sonar *sonar;
		const struct sdf_radio *radio;      /* SDF_WIRELESS_* */
		const double *reference_altitude_m; /* SDF_AIR_PRESSURE, 0 */
	};
};

#endif
