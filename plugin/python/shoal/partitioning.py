"""JAX's custom_partitioning for Shoal: the program that a user's function gives for one device, in a form that a plugin
reads."""


def register_with_jax(c_api) -> None:
    """To be called while JAX looks for its plugins: what is registered then comes after JAX's own registration."""
    from jax._src import custom_partitioning as jax_partitioning
    from jax._src import xla_bridge
    from jax._src.lib import xla_client

    def register(c_api) -> None:
        if c_api is not ours:
            return
        xla_client.register_custom_call_partitioner(
            name=jax_partitioning._CUSTOM_PARTITIONING_CALL_NAME,
            prop_user_sharding=jax_partitioning._custom_partitioning_propagate_user_sharding,
            partition=_partition,
            infer_sharding_from_operands=jax_partitioning._custom_partitioning_infer_sharding_from_operands,
            can_side_effecting_have_replicated_sharding=True,
            c_api=c_api,
        )

    ours = c_api
    xla_bridge._plugin_callbacks.append(register)


def _partition(*args):
    from jax._src import custom_partitioning as jax_partitioning

    program, operands, result = jax_partitioning._custom_partitioning_partition(*args)
    return _portable(program), operands, result


def _portable(program: bytes) -> bytes:
    """JAX hands over its module as it is in memory; everything else that a plugin compiles has gone through this."""
    from jax._src.interpreters import mlir
    from jax._src.lib.mlir import ir, passmanager
    from jax._src.lib.mlir.dialects import hlo

    hlo.register_stablehlo_passes()
    version = hlo.get_version_from_compatibility_requirement(hlo.StablehloCompatibilityRequirement.WEEK_12)
    with mlir.make_ir_context():
        module = ir.Module.parse(program)
        passmanager.PassManager.parse("builtin.module(func.func(chlo-legalize-to-stablehlo))").run(module.operation)
        return hlo.serialize_portable_artifact(module, version)
