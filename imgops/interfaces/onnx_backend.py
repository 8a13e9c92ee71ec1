"""An ONNX backend for models of DepthToSpace, SpaceToDepth, Upsample and Resize, after onnx.backend.base.Backend.

Takes models and nodes of operator sets 1 to 28 whose nodes are these operators alone, and runs them on the CPU by
`imgops.interfaces.onnx`. The package onnx is imported when a model comes, not before.

Optional inputs that are left out, initializers and chains of nodes are served. Strings, sparse initializers, functions
and other operators are not.
"""

from typing import NamedTuple

from .. import _checks
from . import onnx as operators

__all__ = ["PreparedModel", "is_compatible", "prepare", "run_model", "run_node", "supports_device"]


def _upsample_1(X, height_scale, width_scale, mode="nearest"):
    return operators.Upsample(X, (1.0, 1.0, height_scale, width_scale), "linear" if mode == "bilinear" else mode)


# By the operator set that brought the version; attributes have the names of the functions' arguments.
_OPERATORS = {
    "DepthToSpace": dict.fromkeys((1, 11, 13, 28), operators.DepthToSpace),
    "SpaceToDepth": dict.fromkeys((1, 13, 28), operators.SpaceToDepth),
    "Upsample": {1: _upsample_1, 7: operators.Upsample, 9: operators.Upsample},
    "Resize": {10: operators.resize_10, **dict.fromkeys((11, 13, 18, 19), operators.Resize)},
}


def supports_device(device):
    """Whether models run on a device, such as "CPU" or "CUDA:0".

    Examples
    --------
    >>> supports_device("CPU"), supports_device("CUDA")
    (True, False)
    """
    return isinstance(device, str) and device.partition(":")[0] == "CPU"


def is_compatible(model, device="CPU", **kwargs):
    """Whether `prepare` takes this model."""
    try:
        prepare(model, device, **kwargs)
    except ValueError:
        return False
    return True


def prepare(model, device="CPU", **kwargs):  # noqa: ARG001
    """Check a model and make it ready to run.

    Parameters
    ----------
    model : onnx.ModelProto
    device : str
        "CPU".
    **kwargs
        Of onnx's interface, which passes a test's tolerances along; they have no effect.

    Returns
    -------
    PreparedModel

    Raises
    ------
    ImportError
        Where onnx is not installed.
    TypeError
        For something that is no model.
    ValueError
        For a model that onnx.checker refuses, other operators or versions of them, sparse initializers, other devices.

    Examples
    --------
    >>> from onnx import TensorProto, helper  # doctest: +SKIP
    >>> node = helper.make_node("DepthToSpace", ["x"], ["y"], blocksize=2)  # doctest: +SKIP
    >>> x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 4, 2, 3))  # doctest: +SKIP
    >>> y = helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 1, 4, 6))  # doctest: +SKIP
    >>> model = helper.make_model(helper.make_graph([node], "tail", [x], [y]))  # doctest: +SKIP
    >>> (y,) = prepare(model).run([np.zeros((1, 4, 2, 3), np.float32)])  # doctest: +SKIP
    """
    function = "onnx_backend.prepare"
    onnx = _onnx(function)
    _checks.onnx_device(function, device, supports_device(device))
    _checks.onnx_model(function, model, onnx.ModelProto)
    versions = {entry.domain: entry.version for entry in model.opset_import}
    opset = versions.get("", versions.get("ai.onnx", 1))
    steps = [_step(onnx, function, node, opset) for node in model.graph.node]
    if model.graph.sparse_initializer:
        _checks.onnx_sparse(function, [entry.values.name for entry in model.graph.sparse_initializer])
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError as error:
        _checks.onnx_invalid(function, "model", error)
    constants = {entry.name: onnx.numpy_helper.to_array(entry) for entry in model.graph.initializer}
    declared = {entry.name: _declared(onnx, entry.type.tensor_type) for entry in model.graph.input}
    return PreparedModel(steps, constants, declared, [entry.name for entry in model.graph.output])


def run_model(model, inputs, device="CPU", **kwargs):
    """Prepare a model and run it once; see `prepare` and `PreparedModel.run`."""
    return prepare(model, device, **kwargs).run(inputs)


def run_node(node, inputs, device="CPU", outputs_info=None, *, opset_version=None, **kwargs):  # noqa: ARG001
    """Run one node.

    Parameters
    ----------
    node : onnx.NodeProto
    inputs : list of array_like, or dict of them by name
        In the order of the node's inputs, none for one that is left out.
    device : str
        "CPU".
    outputs_info, **kwargs
        Of onnx's interface; they have no effect.
    opset_version : int, optional
        The operator set; the latest that the installed onnx knows by default.

    Returns
    -------
    tuple of ndarray

    Raises
    ------
    ImportError, TypeError, ValueError
        As `prepare`, and as the operator does.
    """
    function = "onnx_backend.run_node"
    onnx = _onnx(function)
    _checks.onnx_device(function, device, supports_device(device))
    _checks.onnx_model(function, node, onnx.NodeProto)
    if opset_version is None:
        opset_version = onnx.defs.onnx_opset_version()
    step = _step(onnx, function, node, opset_version)
    context = onnx.checker.C.CheckerContext()
    context.ir_version = onnx.IR_VERSION
    context.opset_imports = {"": opset_version}
    try:
        onnx.checker.check_node(node, context)
    except onnx.checker.ValidationError as error:
        _checks.onnx_invalid(function, "node", error)
    return (step.run(_checks.onnx_inputs(function, inputs, [name for name in step.inputs if name])),)


class PreparedModel:
    """A model that is ready to run any number of times; see `prepare`."""

    def __init__(self, steps, constants, declared, outputs):
        self._steps = steps
        self._constants = constants
        self._declared = declared
        self._outputs = outputs

    def run(self, inputs, **kwargs):  # noqa: ARG002
        """Run the model.

        Parameters
        ----------
        inputs : list of array_like, or dict of them by name
            In the order of the model's inputs. One that has an initializer may be left out.
        **kwargs
            Of onnx's interface; they have no effect.

        Returns
        -------
        tuple of ndarray
            The model's outputs.

        Raises
        ------
        TypeError, ValueError
            For another number, dtype or shape of inputs than the model declares, and as the operators do.
        """
        function = "onnx_backend.run"
        given = _checks.onnx_inputs(function, inputs, list(self._declared), self._constants)
        for name, array in given.items():
            _checks.onnx_declared(function, name, array, *self._declared[name])
        values = {**self._constants, **given}
        for step in self._steps:
            values[step.output] = step.run(values)
        return tuple(values[name] for name in self._outputs)


class _Step(NamedTuple):
    """One node: a function, the names of its inputs, "" for one that is left out, and of its output."""

    operator: object
    attributes: dict
    inputs: tuple
    output: str

    def run(self, values):
        return self.operator(*(values[name] if name else None for name in self.inputs), **self.attributes)


def _onnx(function):
    try:
        import onnx
        import onnx.checker
        import onnx.numpy_helper
    except ImportError as error:
        _checks.needs_onnx(function, error)
    return onnx


def _step(onnx, function, node, opset):
    """The _Step of a node; its other mistakes are the checker's business."""
    version = opset
    if node.op_type in _OPERATORS and onnx.defs.has(node.op_type, node.domain):
        try:
            version = onnx.defs.get_schema(node.op_type, opset, node.domain).since_version
        except onnx.defs.SchemaError:
            version = opset
    operator = _checks.onnx_operator(function, node.domain, node.op_type, version, _OPERATORS)
    attributes = {entry.name: _attribute(onnx, entry) for entry in node.attribute}
    return _Step(operator, attributes, tuple(node.input), node.output[0] if node.output else "")


def _attribute(onnx, entry):
    value = onnx.helper.get_attribute_value(entry)
    return value.decode() if isinstance(value, bytes) else value


def _declared(onnx, tensor_type):
    """(dtype, shape) of a model's input; None is anything."""
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor_type.elem_type)
    if not tensor_type.HasField("shape"):
        return dtype, None
    return dtype, tuple(entry.dim_value if entry.HasField("dim_value") else None for entry in tensor_type.shape.dim)
