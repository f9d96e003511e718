// What the programs of the tests on Fast DDS share: its versions, a type that is only its name, and reading CDR.
#ifndef TESTS_GATEWAY_ROS2_DDS_H
#define TESTS_GATEWAY_ROS2_DDS_H

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fastcdr/Cdr.h>
#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/Topic.hpp>
#include <fastdds/dds/topic/TopicDataType.hpp>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

using namespace eprosima::fastdds::dds;
using eprosima::fastcdr::Cdr;
using eprosima::fastcdr::FastBuffer;
using Bytes = std::vector<char>;
using Words = std::vector<std::string>;

inline Words split(const std::string &text, char by)
{
	Words words;
	std::stringstream in(text);
	for (std::string word; std::getline(in, word, by);)
		words.push_back(word);
	return words;
}

// What versions 2 and 3 of Fast DDS, and 1 and 2 of Fast CDR, call by other names.
#if __has_include(<fastrtps/config.h>)
namespace rtps = eprosima::fastrtps::rtps;
static const auto CDR_VERSION = Cdr::DDS_CDR;
inline size_t length_of(const Cdr &cdr) { return cdr.getSerializedDataLength(); }
inline bool is_ok(const eprosima::fastrtps::types::ReturnCode_t &code) { return code == ReturnCode_t::RETCODE_OK; }
#else
namespace rtps = eprosima::fastdds::rtps;
static const auto CDR_VERSION = eprosima::fastcdr::CdrVersion::XCDRv1;
inline size_t length_of(const Cdr &cdr) { return cdr.get_serialized_data_length(); }
inline bool is_ok(ReturnCode_t code) { return code == RETCODE_OK; }
#endif

static const uint32_t SAMPLE_MAX = 8 << 20;

// A type that is only its name: its samples are CDR with its header.
struct AnyType : TopicDataType {
	static bool put(const void *data, rtps::SerializedPayload_t &payload)
	{
		const Bytes &bytes = *static_cast<const Bytes *>(data);
		memcpy(payload.data, bytes.data(), bytes.size());
		payload.length = static_cast<uint32_t>(bytes.size());
		payload.encapsulation = CDR_LE;
		return true;
	}
	static bool take(const rtps::SerializedPayload_t &payload, void *data)
	{
		const char *begin = reinterpret_cast<const char *>(payload.data);
		static_cast<Bytes *>(data)->assign(begin, begin + payload.length);
		return true;
	}
	static uint32_t size(const void *data)
	{
		return static_cast<uint32_t>(static_cast<const Bytes *>(data)->size());
	}
#if __has_include(<fastrtps/config.h>)
	explicit AnyType(const std::string &name)
	{
		setName(name.c_str());
		m_typeSize = SAMPLE_MAX;
		m_isGetKeyDefined = false;
	}
	bool serialize(void *data, rtps::SerializedPayload_t *payload) override { return put(data, *payload); }
	bool deserialize(rtps::SerializedPayload_t *payload, void *data) override { return take(*payload, data); }
	std::function<uint32_t()> getSerializedSizeProvider(void *data) override
	{
		return [data]() { return size(data); };
	}
	void *createData() override { return new Bytes; }
	void deleteData(void *data) override { delete static_cast<Bytes *>(data); }
	bool getKey(void *, rtps::InstanceHandle_t *, bool) override { return false; }
#else
	explicit AnyType(const std::string &name)
	{
		set_name(name);
		max_serialized_type_size = SAMPLE_MAX;
		is_compute_key_provided = false;
	}
	bool serialize(const void *const data, rtps::SerializedPayload_t &payload, DataRepresentationId_t) override
	{
		return put(data, payload);
	}
	bool deserialize(rtps::SerializedPayload_t &payload, void *data) override { return take(payload, data); }
	uint32_t calculate_serialized_size(const void *const data, DataRepresentationId_t) override
	{
		return size(data);
	}
	void *create_data() override { return new Bytes; }
	void delete_data(void *data) override { delete static_cast<Bytes *>(data); }
	bool compute_key(rtps::SerializedPayload_t &, rtps::InstanceHandle_t &, bool) override { return false; }
	bool compute_key(const void *const, rtps::InstanceHandle_t &, bool) override { return false; }
#endif
};

template <class T> inline T get(Cdr &cdr)
{
	T value;
	cdr >> value;
	return value;
}

inline std::string dds_type(const std::string &type)
{
	Words parts = split(type, '/');
	if (parts.size() == 3)
		return parts[0] + "::" + parts[1] + "::dds_::" + parts[2] + "_";
	return parts[0] + "::msg::dds_::" + parts[1] + "_";
}

#endif
