// What libsdformat reads from a file, one line for each entity, in the format of `troupe print --flat`. Errors go to the
// standard error, one line each; the exit status is 1 after errors, and 2 if nothing could be read.
//
// Only test_sdformat.sh uses it, where libsdformat is installed: versions 12 (in the namespace ignition) and later.
#include <cstdio>
#include <cmath>
#include <iostream>
#include <string>

#include <sdf/sdf.hh>

using Pose = std::decay_t<decltype(sdf::Model().RawPose())>;
using Vector = std::decay_t<decltype(sdf::Model().RawPose().Pos())>;

static bool failed = false;

static void Report(const sdf::Errors &errors)
{
	for (const auto &error : errors) {
		// An <include> that is not here stays in what is printed; its world has the other entities.
		if (error.Code() == sdf::ErrorCode::URI_LOOKUP)
			continue;
		failed = true;
		std::cerr << "libsdformat: error " << static_cast<int>(error.Code()) << ": " << error.Message() << "\n";
	}
}

static std::string Number(double value)
{
	char text[64];
	snprintf(text, sizeof text, " %.6f", std::fabs(value) < 0.5e-6 ? 0.0 : value);
	return text;
}

static std::string Numbers(const Vector &v)
{
	return Number(v.X()) + Number(v.Y()) + Number(v.Z());
}

static std::string Text(const Pose &pose)
{
	double q[4] = {pose.Rot().W(), pose.Rot().X(), pose.Rot().Y(), pose.Rot().Z()};
	double sign = 1;
	for (double part : q)
		if (std::fabs(part) >= 0.5e-6) {
			sign = part > 0 ? 1 : -1;
			break;
		}
	std::string text = " pose" + Numbers(pose.Pos());
	for (double part : q)
		text += Number(sign * part);
	return text;
}

// The pose in the frame that is the default for it: the model, link or world around it.
template <class T> static Pose Inside(const T &part, const std::string &frame = "")
{
	Pose pose;
	Report(part.SemanticPose().Resolve(pose, frame));
	return pose;
}

static std::string Shape(const sdf::Geometry *geometry)
{
	if (!geometry)
		return " empty";
	switch (geometry->Type()) {
	case sdf::GeometryType::BOX:
		return " box" + Numbers(geometry->BoxShape()->Size());
	case sdf::GeometryType::SPHERE:
		return " sphere" + Number(geometry->SphereShape()->Radius());
	case sdf::GeometryType::CYLINDER:
		return " cylinder" + Number(geometry->CylinderShape()->Radius()) +
		       Number(geometry->CylinderShape()->Length());
	case sdf::GeometryType::CAPSULE:
		return " capsule" + Number(geometry->CapsuleShape()->Radius()) +
		       Number(geometry->CapsuleShape()->Length());
	case sdf::GeometryType::ELLIPSOID:
		return " ellipsoid" + Numbers(geometry->EllipsoidShape()->Radii());
	case sdf::GeometryType::PLANE:
		return " plane" + Numbers(geometry->PlaneShape()->Normal());
	case sdf::GeometryType::MESH:
		return " mesh" + Numbers(geometry->MeshShape()->Scale());
	case sdf::GeometryType::HEIGHTMAP:
		return " heightmap";
	default:
		return " empty"; // shapes that `print --flat` has no name for, too
	}
}

static void PrintLink(const sdf::Link &link, const std::string &scope, const Pose &model)
{
	const std::string name = scope + "::" + link.Name();
	const Pose pose = model * Inside(link);
	const auto &inertial = link.Inertial();
	const auto &mass = inertial.MassMatrix();
	std::cout << "link " << name << Text(pose) << " mass" << Number(mass.Mass()) << " com"
		  << Numbers(inertial.Pose().Pos()) << " inertia" << Numbers(mass.DiagonalMoments())
		  << Numbers(mass.OffDiagonalMoments()) << "\n";
	for (uint64_t i = 0; i < link.CollisionCount(); i++) {
		const auto *part = link.CollisionByIndex(i);
		std::cout << "collision " << name << "::" << part->Name() << Text(pose * Inside(*part)) << Shape(part->Geom())
			  << "\n";
	}
	for (uint64_t i = 0; i < link.VisualCount(); i++) {
		const auto *part = link.VisualByIndex(i);
		std::cout << "visual " << name << "::" << part->Name() << Text(pose * Inside(*part)) << Shape(part->Geom())
			  << "\n";
	}
	for (uint64_t i = 0; i < link.SensorCount(); i++) {
		const auto *part = link.SensorByIndex(i);
		std::cout << "sensor " << name << "::" << part->Name() << Text(pose * Inside(*part)) << " " << part->TypeStr()
			  << " rate" << Number(part->UpdateRate()) << "\n";
	}
}

static std::string Kind(const sdf::Joint &joint)
{
	switch (joint.Type()) {
	case sdf::JointType::BALL:
		return "ball";
	case sdf::JointType::CONTINUOUS:
		return "continuous";
	case sdf::JointType::FIXED:
		return "fixed";
	case sdf::JointType::GEARBOX:
		return "gearbox";
	case sdf::JointType::PRISMATIC:
		return "prismatic";
	case sdf::JointType::REVOLUTE:
		return "revolute";
	case sdf::JointType::REVOLUTE2:
		return "revolute2";
	case sdf::JointType::SCREW:
		return "screw";
	case sdf::JointType::UNIVERSAL:
		return "universal";
	default:
		return "invalid";
	}
}

static void PrintJoint(const sdf::Joint &joint, const std::string &scope, const Pose &model)
{
	std::string parent, child;
	Report(joint.ResolveParentLink(parent));
	Report(joint.ResolveChildLink(child));
	std::cout << "joint " << scope << "::" << joint.Name() << " " << Kind(joint) << " parent " << parent << " child "
		  << child << Text(model * Inside(joint, "__model__"));
	for (unsigned i = 0; i < 2; i++) {
		const auto *axis = joint.Axis(i);
		if (!axis)
			continue;
		Vector xyz;
		Report(axis->ResolveXyz(xyz, "__model__"));
		std::cout << " axis" << i << Numbers(model.Rot().RotateVector(xyz)) << Number(axis->Lower())
			  << Number(axis->Upper()) << " damping" << Number(axis->Damping());
	}
	std::cout << "\n";
}

static void PrintModel(const sdf::Model &model, const std::string &around, const Pose &in, bool is_static)
{
	const std::string name = around.empty() ? model.Name() : around + "::" + model.Name();
	const Pose pose = in * Inside(model);
	is_static = is_static || model.Static();
	std::cout << "model " << name << " static=" << is_static << Text(pose) << "\n";
	for (uint64_t i = 0; i < model.LinkCount(); i++)
		PrintLink(*model.LinkByIndex(i), name, pose);
	for (uint64_t i = 0; i < model.JointCount(); i++)
		PrintJoint(*model.JointByIndex(i), name, pose);
	for (uint64_t i = 0; i < model.ModelCount(); i++)
		PrintModel(*model.ModelByIndex(i), name, pose, is_static);
}

static void PrintWorld(const sdf::World &world)
{
	const auto *physics = world.PhysicsDefault() ? world.PhysicsDefault() : world.PhysicsByIndex(0);
	std::cout << "world " << world.Name() << " gravity" << Numbers(world.Gravity()) << " step"
		  << Number(physics ? physics->MaxStepSize() : 0.001) << " rtf"
		  << Number(physics ? physics->RealTimeFactor() : 1) << "\n";
	for (uint64_t i = 0; i < world.ModelCount(); i++)
		PrintModel(*world.ModelByIndex(i), "", Pose::Zero, false);
	for (uint64_t i = 0; i < world.LightCount(); i++)
		std::cout << "light " << world.LightByIndex(i)->Name() << "\n";
	for (uint64_t i = 0; i < world.ActorCount(); i++)
		std::cout << "actor " << world.ActorByIndex(i)->Name() << "\n";
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		std::cerr << "usage: sdformat_flat FILE\n";
		return 2;
	}
	sdf::Root root;
	Report(root.Load(argv[1]));
	for (uint64_t i = 0; i < root.WorldCount(); i++)
		PrintWorld(*root.WorldByIndex(i));
	if (root.Model())
		PrintModel(*root.Model(), "", Pose::Zero, false);
	if (root.Light())
		std::cout << "light " << root.Light()->Name() << "\n";
	if (root.Actor())
		std::cout << "actor " << root.Actor()->Name() << "\n";
	return failed;
}
