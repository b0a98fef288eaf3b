"""MJX: a batch of double pendulums and a falling box over the devices, step for step as MuJoCo's own C code."""

from client import run, shard, whole
import jax
import mujoco
import numpy as np
from mujoco import mjx

DOUBLE = """<mujoco><option timestep="0.005" integrator="RK4"/><worldbody><body pos="0 0 2"><joint name="a" type="hinge" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.03" contype="0" conaffinity="0"/><body pos="0 0 -0.5"><joint type="hinge" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.03" contype="0" conaffinity="0"/></body></body></worldbody>
<actuator><motor joint="a" gear="2"/></actuator></mujoco>"""
BOX = """<mujoco><option timestep="0.005"/><worldbody><geom type="plane" size="5 5 0.1"/>
<body pos="0 0 0.4"><freejoint/><geom type="box" size="0.1 0.15 0.2" mass="1"/></body></worldbody></mujoco>"""


def compare(xml, starts, steps, control=None):
    model = mujoco.MjModel.from_xml_string(xml)
    device_model = mjx.put_model(model, device=jax.local_devices()[0])

    def swing(qpos):
        data = mjx.make_data(device_model).replace(qpos=qpos)
        data = data if control is None else data.replace(ctrl=np.array([control]))
        return jax.lax.scan(lambda d, _: (mjx.step(device_model, d), None), data, length=steps)[0].qpos

    got = whole(jax.jit(jax.vmap(swing))(shard(starts, "data")))
    wanted = []
    for start in starts:
        data = mujoco.MjData(model)
        data.qpos[:] = start
        if control is not None:
            data.ctrl[:] = control
        mujoco.mj_step(model, data, steps)
        wanted.append(data.qpos.copy())
    return got, np.stack(wanted)


def program():
    jax.config.update("jax_enable_x64", True)
    boxes = np.tile(mujoco.MjModel.from_xml_string(BOX).qpos0, (4, 1))
    boxes[:, 2] += np.linspace(0, 0.1, 4)
    return {
        "double pendulum": (
            *compare(DOUBLE, np.random.default_rng(0).uniform(-1, 1, size=(8, 2)), 100, control=0.3),
            1e-5,
        ),
        "box": (*compare(BOX, boxes, 60), 2e-3),
    }


if __name__ == "__main__":
    run(program)
