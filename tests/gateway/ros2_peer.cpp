// A node of another implementation of DDS, eProsima's Fast DDS, which is ROS 2's default: it subscribes and publishes as
// rclcpp does, and reads and writes CDR with Fast CDR. Each argument is one order:
//
//   sub:NAME:TYPE[:best|:static]   prints a line "NAME WORDS" for each message (reliable; best: best effort; static:
//                                  transient local, too)
//   pub:NAME:TYPE:VALUES[@S]       publishes the message 20 times in a second, from S seconds after the start on
//                                  (VALUES: see make())
//   raw:NAME:TYPE:HEX              the same with these bytes as the message
//   flood:NAME:TYPE:VALUES         the same as fast as it can, best effort in the pace of its own queue
//   rawflood:NAME:TYPE:HEX         both: these bytes, as fast as it can
//   data:HEX, title:N              user data of the participant and of all its ends; a name of N letters
//   nodes[:BYTES]                  prints the nodes of each ros_discovery_info, whose ids have so many bytes (16)
//   domain:N, for:S, hang:S        the domain (0), the time until the end (5 s), seconds after which it stops to take
//   least:NAME:N                   the end waits until so many messages of NAME have come, but no longer than LATEST_S:
//                                  a busy machine has less in the same time
//
// A name without a slash before it is one of DDS itself.
#include "ros2_dds.h"

// --- messages ------------------------------------------------------------------------------------------------------

static void say_header(Cdr &cdr)
{
	int32_t s = get<int32_t>(cdr);
	uint32_t ns = get<uint32_t>(cdr);
	std::string frame = get<std::string>(cdr);
	printf(" stamp=%d.%09u frame=%s", s, ns, frame.c_str());
}

static void say_doubles(Cdr &cdr, const char *name, int count)
{
	printf(" %s=", name);
	for (int i = 0; i < count; i++)
		printf("%s%.6f", i ? "," : "", get<double>(cdr));
}

template <class T> static void say_list(Cdr &cdr, const char *name)
{
	std::vector<T> list = get<std::vector<T>>(cdr);
	double sum = 0;
	for (T value : list)
		sum += static_cast<double>(value);
	printf(" %s=%zu:%.6f", name, list.size(), sum);
}

static void say_numbers(Cdr &cdr, const char *name)
{
	printf(" %s=", name);
	for (double value : get<std::vector<double>>(cdr))
		printf("%.6f,", value);
}

static size_t gid_bytes = 16;

static void skip(Cdr &cdr, size_t count)
{
	for (size_t i = 0; i < count; i++)
		(void)get<uint8_t>(cdr);
}

static void say(const std::string &type, Bytes &bytes)
{
	FastBuffer buffer(bytes.data(), bytes.size());
	Cdr cdr(buffer, Cdr::DEFAULT_ENDIAN, CDR_VERSION);
	cdr.read_encapsulation();
	if (type.size() > 9 && type.substr(type.size() - 9) == "_Response") { // which has a result first
		printf(" client=%llx", (unsigned long long)get<uint64_t>(cdr));
		printf(" number=%lld", (long long)get<int64_t>(cdr));
		printf(" result=%u", get<uint8_t>(cdr));
		printf(" text='%s'", get<std::string>(cdr).c_str());
	} else if (type == "rosgraph_msgs/Clock") {
		int32_t s = get<int32_t>(cdr);
		printf(" time=%d.%09u", s, get<uint32_t>(cdr));
	} else if (type == "tf2_msgs/TFMessage") {
		for (uint32_t i = get<uint32_t>(cdr); i > 0; i--) {
			say_header(cdr);
			printf(" child=%s", get<std::string>(cdr).c_str());
			say_doubles(cdr, "translation", 3);
			say_doubles(cdr, "rotation", 4);
		}
	} else if (type == "nav_msgs/Odometry") {
		say_header(cdr);
		printf(" child=%s", get<std::string>(cdr).c_str());
		say_doubles(cdr, "position", 3);
		say_doubles(cdr, "orientation", 4);
	} else if (type == "sensor_msgs/JointState") {
		say_header(cdr);
		printf(" names=");
		for (const std::string &name : get<std::vector<std::string>>(cdr))
			printf("%s,", name.c_str());
		say_numbers(cdr, "position");
		say_numbers(cdr, "velocity");
		say_numbers(cdr, "effort");
	} else if (type == "sensor_msgs/LaserScan") {
		say_header(cdr);
		for (int i = 0; i < 7; i++)
			printf(" %.6f", static_cast<double>(get<float>(cdr)));
		say_list<float>(cdr, "ranges");
	} else if (type == "sensor_msgs/Image") {
		say_header(cdr);
		uint32_t height = get<uint32_t>(cdr), width = get<uint32_t>(cdr);
		std::string encoding = get<std::string>(cdr);
		(void)get<uint8_t>(cdr);
		uint32_t step = get<uint32_t>(cdr);
		printf(" %ux%u %s step=%u", width, height, encoding.c_str(), step);
		say_list<uint8_t>(cdr, "data");
	} else if (type == "sensor_msgs/CompressedImage") {
		say_header(cdr);
		printf(" format='%s'", get<std::string>(cdr).c_str());
		Bytes data = get<Bytes>(cdr);
		printf(" %zu bytes from", data.size());
		for (size_t i = 0; i < data.size() && i < 24; i++) // a PNG has its size there
			printf(" %02x", static_cast<unsigned char>(data[i]));
	} else if (type == "sensor_msgs/CameraInfo") {
		say_header(cdr);
		uint32_t height = get<uint32_t>(cdr), width = get<uint32_t>(cdr);
		printf(" %ux%u model=%s", width, height, get<std::string>(cdr).c_str());
	} else if (type == "sensor_msgs/PointCloud2") {
		say_header(cdr);
		uint32_t height = get<uint32_t>(cdr), width = get<uint32_t>(cdr);
		printf(" %ux%u fields=", width, height);
		for (uint32_t i = get<uint32_t>(cdr); i > 0; i--) {
			std::string name = get<std::string>(cdr);
			uint32_t offset = get<uint32_t>(cdr);
			uint8_t datatype = get<uint8_t>(cdr);
			printf("%s:%u:%u:%u,", name.c_str(), offset, datatype, get<uint32_t>(cdr));
		}
	} else if (type == "sensor_msgs/Imu") {
		say_header(cdr);
		say_doubles(cdr, "orientation", 4);
		say_doubles(cdr, "covariance", 9);
		say_doubles(cdr, "rate", 3);
		say_doubles(cdr, "covariance", 9);
		say_doubles(cdr, "acceleration", 3);
	} else if (type == "sensor_msgs/NavSatFix") {
		say_header(cdr);
		int status = get<int8_t>(cdr);
		printf(" status=%d service=%u", status, get<uint16_t>(cdr));
		say_doubles(cdr, "place", 3);
	} else if (type == "ros_gz_interfaces/Contacts") {
		say_header(cdr);
		printf(" contacts=%u", get<uint32_t>(cdr));
	} else if (type == "rmw_dds_common/ParticipantEntitiesInfo") {
		skip(cdr, gid_bytes);
		for (uint32_t nodes = get<uint32_t>(cdr); nodes > 0; nodes--) {
			std::string space = get<std::string>(cdr);
			printf(" node=%s%s", space.c_str(), get<std::string>(cdr).c_str());
			for (const char *kind : {"readers", "writers"}) {
				uint32_t count = get<uint32_t>(cdr);
				skip(cdr, count * gid_bytes);
				printf(" %s=%u", kind, count);
			}
		}
	}
	printf(" bytes=%zu\n", bytes.size());
	fflush(stdout);
}

// The bytes of a message from its values.
static Bytes make(const std::string &type, const Words &values)
{
	Bytes bytes(1 << 20);
	FastBuffer buffer(bytes.data(), bytes.size());
	Cdr cdr(buffer, Cdr::DEFAULT_ENDIAN, CDR_VERSION);
	cdr.serialize_encapsulation();
	auto number = [&](size_t i) { return i < values.size() ? strtod(values[i].c_str(), nullptr) : 0.0; };
	if (type == "geometry_msgs/TwistStamped")
		cdr << int32_t{0} << uint32_t{0} << std::string("frame");
	if (type == "geometry_msgs/Twist" || type == "geometry_msgs/TwistStamped") {
		cdr << number(0) << 0.0 << 0.0 << 0.0 << 0.0 << number(1);
	} else if (type == "sensor_msgs/JointState") { // name, position, velocity, effort; "-": none of them
		cdr << int32_t{0} << uint32_t{0} << std::string();
		cdr << std::vector<std::string>{values[0]};
		for (size_t i = 1; i < 4; i++)
			cdr << (i < values.size() && values[i] != "-" ? std::vector<double>{number(i)} : std::vector<double>{});
	} else { // std_msgs
		cdr << number(0);
	}
	bytes.resize(length_of(cdr));
	return bytes;
}

static Bytes of_hex(const std::string &hex)
{
	Bytes bytes;
	for (size_t i = 0; i + 1 < hex.size(); i += 2)
		bytes.push_back(static_cast<char>(strtol(hex.substr(i, 2).c_str(), nullptr, 16)));
	return bytes;
}

// --- orders --------------------------------------------------------------------------------------------------------

struct Reading {
	std::string name, type;
	DataReader *reader;
};

struct Writing {
	DataWriter *writer;
	Bytes bytes;
	double begin_s, next_s;
	bool flood;
};

static const double LATEST_S = 100;

static bool enough(const std::map<std::string, int> &wanted, std::map<std::string, int> &had)
{
	for (const auto &want : wanted)
		if (had[want.first] < want.second)
			return false;
	return true;
}

int main(int argc, char **argv)
{
	double until_s = 5, hang_s = 1e9;
	std::map<std::string, int> wanted, had;
	uint32_t domain = 0;
	std::vector<Words> orders;
	Bytes data;
	std::string title = "peer";
	for (int i = 1; i < argc; i++) {
		Words words = split(argv[i], ':');
		if (words[0] == "domain")
			domain = static_cast<uint32_t>(atoi(words[1].c_str()));
		else if (words[0] == "for")
			until_s = atof(words[1].c_str());
		else if (words[0] == "data")
			data = of_hex(words[1]);
		else if (words[0] == "title")
			title = std::string(strtoul(words[1].c_str(), nullptr, 10), 'x');
		else if (words[0] == "hang")
			hang_s = atof(words[1].c_str());
		else if (words[0] == "least")
			wanted[words[1]] = atoi(words[2].c_str());
		else if (words[0] == "nodes") {
			gid_bytes = words.size() > 1 ? strtoul(words[1].c_str(), nullptr, 10) : 16;
			orders.push_back({"sub", "ros_discovery_info", "rmw_dds_common/ParticipantEntitiesInfo", "static"});
		} else
			orders.push_back(words);
	}
	DomainParticipantQos qos = PARTICIPANT_QOS_DEFAULT;
	qos.name(title);
	qos.user_data().assign(data.begin(), data.end());
	DomainParticipant *participant = DomainParticipantFactory::get_instance()->create_participant(domain, qos);
	if (!participant)
		return 2;
	Publisher *publisher = participant->create_publisher(PUBLISHER_QOS_DEFAULT);
	Subscriber *subscriber = participant->create_subscriber(SUBSCRIBER_QOS_DEFAULT);
	std::vector<Reading> readings;
	std::vector<Writing> writings;
	std::vector<std::unique_ptr<TypeSupport>> supports;
	for (const Words &order : orders) {
		std::string topic_name = order[1][0] == '/' ? "rt" + order[1] : order[1];
		std::string type_name = dds_type(order[2]);
		supports.emplace_back(new TypeSupport(new AnyType(type_name)));
		supports.back()->register_type(participant);
		auto *found = participant->lookup_topicdescription(topic_name);
		Topic *topic = found ? dynamic_cast<Topic *>(found) : participant->create_topic(topic_name, type_name, TOPIC_QOS_DEFAULT);
		if (!topic)
			return 3;
		std::string how = order.size() > 3 ? order[3] : "";
		if (order[0] == "sub") {
			DataReaderQos own = DATAREADER_QOS_DEFAULT;
			own.reliability().kind = how == "best" ? BEST_EFFORT_RELIABILITY_QOS : RELIABLE_RELIABILITY_QOS;
			own.durability().kind = how == "static" ? TRANSIENT_LOCAL_DURABILITY_QOS : VOLATILE_DURABILITY_QOS;
			own.history().depth = order[2] == "sensor_msgs/Image" ? 10 : 500; // this program may be late itself
			own.user_data().assign(data.begin(), data.end());
			own.endpoint().history_memory_policy = rtps::DYNAMIC_RESERVE_MEMORY_MODE;
			readings.push_back({order[1], order[2], subscriber->create_datareader(topic, own)});
			continue;
		}
		DataWriterQos own = DATAWRITER_QOS_DEFAULT;
		own.history().depth = 10;
		own.user_data().assign(data.begin(), data.end());
		own.endpoint().history_memory_policy = rtps::DYNAMIC_RESERVE_MEMORY_MODE;
		Words parts = split(how, '@');
		double begin_s = parts.size() > 1 ? atof(parts[1].c_str()) : 0;
		Bytes bytes = order[0].substr(0, 3) == "raw" ? of_hex(how) : make(order[2], split(parts[0], ','));
		writings.push_back({publisher->create_datawriter(topic, own), bytes, begin_s, begin_s,
				    order[0] == "flood" || order[0] == "rawflood"});
	}
	auto begin = std::chrono::steady_clock::now();
	for (double now = 0; now < until_s || (now < LATEST_S && !enough(wanted, had));) {
		now = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
		for (Reading &reading : readings) {
			Bytes bytes;
			SampleInfo info;
			while (now < hang_s && is_ok(reading.reader->take_next_sample(&bytes, &info)))
				if (info.valid_data) {
					had[reading.name]++;
					printf("%s", reading.name.c_str());
					say(reading.type, bytes);
				}
		}
		bool flood = false;
		for (Writing &writing : writings) {
			for (int i = 0; i < (writing.flood ? 100 : now >= writing.next_s ? 1 : 0); i++) {
				writing.writer->write(&writing.bytes);
				writing.next_s += 0.05;
			}
			flood |= writing.flood;
		}
		if (!flood)
			std::this_thread::sleep_for(std::chrono::milliseconds(5));
	}
	participant->delete_contained_entities();
	DomainParticipantFactory::get_instance()->delete_participant(participant);
	return 0;
}
