"""What a snapshot of the library says, as values of Python: models, joints, sensors and contacts."""

from ._library import _JOINT_KINDS, _NONE
from ._values import Contact, Pose, _text


def _model_names(snapshot):
    scene = snapshot.scene[0]
    return [_text(scene.models[i].name) for i in range(scene.model_count)]


def _world_joint_names(snapshot):
    scene = snapshot.scene[0]
    models = [scene.models[i] for i in range(scene.model_count)]
    first = max([model.joint_first + model.joint_count for model in models], default=0)
    return [_text(scene.joints[i].name) for i in range(first, scene.joint_count)]


def _joint_dict(joint):
    axes = [{"direction": tuple(axis.direction), "lower": axis.lower, "upper": axis.upper, "velocity": axis.velocity,
             "effort": axis.effort} for axis in joint.axis[:joint.axis_count]]
    return {"name": _text(joint.name), "kind": _JOINT_KINDS[joint.kind], "axes": axes}


def _sensor_dict(sensor):
    numbers = [_text(sensor.numbers[i]) for i in range(sensor.number_count)]
    return {"name": _text(sensor.name), "type": _text(sensor.type), "rate": sensor.rate_hz, "numbers": numbers,
            "in_link": Pose(*sensor.in_link)}


def _scene_dict(snapshot):
    scene = snapshot.scene[0]
    models = []
    for i in range(scene.model_count):
        model = scene.models[i]
        links = [scene.links[model.link_first + k] for k in range(model.link_count)]
        joints = [scene.joints[model.joint_first + k] for k in range(model.joint_count)]
        models.append({"name": _text(model.name), "id": model.id, "static": model.is_static,
                       "performer": model.performer, "actor": model.actor, "pose": Pose(*model.pose),
                       "links": [{"name": _text(link.name), "mass": link.mass, "in_model": Pose(*link.in_model)}
                                 for link in links],
                       "joints": [_joint_dict(joint) for joint in joints], "sensors": []})
    for i in range(scene.sensor_count):
        models[scene.sensors[i].model]["sensors"].append(_sensor_dict(scene.sensors[i]))
    return {"world": _text(scene.world), "epoch": scene.epoch, "step": snapshot.step, "time": snapshot.time_s,
            "paused": snapshot.paused, "models": models}


def _shape_name(scene, index):
    if index == _NONE:
        return None
    shape = scene.shapes[index]
    link = scene.links[shape.link]
    return "::".join(_text(part.name) for part in (scene.models[link.model], link, shape.form[0]))


def _contact_list(snapshot):
    scene = snapshot.scene[0]
    found = []
    for i in range(snapshot.contact_count):
        contact = snapshot.contacts[i]
        found.append(Contact(_shape_name(scene, contact.shapes[0]), _shape_name(scene, contact.shapes[1]),
                             tuple(contact.position), tuple(contact.normal), contact.depth))
    return found
