"""Softmax regression on Fashion-MNIST against Selari's servers, with nothing but
proto/, grpcio-tools and numpy: python softmax_regression.py COORDINATOR [STEPS]"""
import gzip, pathlib, random, sys, tempfile
import grpc, numpy as np
from grpc_tools import protoc

proto, out = pathlib.Path(__file__).resolve().parents[2] / "proto", tempfile.mkdtemp()
protoc.main(["protoc", f"-I{proto}", f"--python_out={out}", f"--grpc_python_out={out}"] + [
    str(path.relative_to(proto)) for path in sorted(proto.glob("selari/v1/*.proto"))])
sys.path.insert(0, out)
from selari.v1 import coordinator_service_pb2 as cs, coordinator_service_pb2_grpc as cs_grpc
from selari.v1 import parameter_service_pb2 as ps, parameter_service_pb2_grpc as ps_grpc

def idx(name, header):
    with gzip.open(f"/usr/share/datasets/fashion-mnist/{name}.gz") as file:
        return np.frombuffer(file.read(), np.uint8, offset=header)

def load(part):
    return (idx(f"{part}-images-idx3-ubyte", 16).reshape(-1, 784).astype("<f4") / 255,
            idx(f"{part}-labels-idx1-ubyte", 8).astype(int))

def pull(name, version):  # each owner answers with the pieces it hosts
    value = np.empty(list(tensors[name].spec.shape), "<f4")
    for owner in {shard_map.shard_owners[c.shard] for c in tensors[name].chunks}:
        request = ps.PullTensorRequest(name=name, min_version=version)
        for piece in servers[owner].PullTensor(request, timeout=60).pieces:
            value.flat[piece.offset:piece.offset + piece.count] = np.frombuffer(piece.data, "<f4")
    return value

def push(step, gradients):  # each chunk goes to the server that owns its shard
    requests = {}
    for name, gradient in gradients.items():
        for c in tensors[name].chunks:
            sequence[c.shard] = sequence.get(c.shard, 0) + 1
            requests.setdefault(shard_map.shard_owners[c.shard], []).append(ps.ChunkPush(
                chunk=c.chunk, step=step, sequence=sequence[c.shard],
                gradient=gradient.flat[c.offset:c.offset + c.count].astype("<f4").tobytes()))
    calls = [servers[owner].PushGradient.future(ps.PushGradientRequest(
        job_id=job.job_id, worker_incarnation=me, pushes=pushes), timeout=60)
        for owner, pushes in requests.items()]  # at once
    [call.result() for call in calls]

address = sys.argv[1] if len(sys.argv) > 1 else sys.exit(__doc__)
(x, y), (test_x, test_y), sequence = load("train"), load("t10k"), {}
steps, me = int(sys.argv[2]) if len(sys.argv) > 2 else 600, random.getrandbits(63) | 1
coordinator = cs_grpc.CoordinatorServiceStub(grpc.insecure_channel(address))
print(f"waits for the coordinator at {address}, 60 s at most", file=sys.stderr)
job = coordinator.GetJob(cs.GetJobRequest(), wait_for_ready=True, timeout=60).job
coordinator.RegisterWorker(cs.RegisterWorkerRequest(  # any CPU will do for numpy
    worker_id=0, incarnation=me, instruction_set=job.job.cluster.instruction_set))
shard_map = next(coordinator.WatchShardMap(cs.WatchShardMapRequest())).shard_map
servers = [ps_grpc.ParameterServiceStub(grpc.insecure_channel(s.address)) for s in shard_map.servers]
tensors = {t.spec.name: t for t in servers[0].ListTensors(ps.ListTensorsRequest()).tensors}
for step in range(steps):
    rows = np.random.default_rng(step).integers(0, len(x), 256)
    p = np.exp(x[rows] @ pull("weight", step) + pull("bias", step))
    p = p / p.sum(1, keepdims=True) - np.eye(10)[y[rows]]
    push(step, {"weight": x[rows].T @ p / 256, "bias": p.sum(0) / 256})
    coordinator.RenewLease(cs.RenewLeaseRequest(kind=cs.MEMBER_KIND_WORKER, incarnation=me))
right = (test_x @ pull("weight", steps) + pull("bias", steps)).argmax(1) == test_y
coordinator.ReportProgress(cs.ReportProgressRequest(incarnation=me, step=steps, finished=True))
print(f"test accuracy {right.mean():.4f}")
