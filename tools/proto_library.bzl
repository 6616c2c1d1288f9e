"""C++ libraries generated from .proto files by the system's protoc.

    selari_proto_library(
        name = "job_proto",
        srcs = ["job.proto"],             # in proto/selari/v1
        visibility = ["//:may_use_proto"],
    )

    #include "selari/v1/job.pb.h"
    #include "selari/v1/job.grpc.pb.h"    # with grpc = True

Protos are imported relative to the folder proto/, as buf expects:
`import "selari/v1/job.proto";`.
"""

_ROOT = "proto"
_PROTOC = "/usr/bin/protoc"
_GRPC_PLUGIN = "/usr/bin/grpc_cpp_plugin"


# Folder, inside the package's output, that the generated headers are found in.
_OUT = "generated"

def _generate(name, stems, inputs, proto_path, files, grpc, deps, **kwargs):
    outputs = [_OUT + "/" + stem for stem in stems]
    headers = [output + ".pb.h" for output in outputs]
    sources = [output + ".pb.cc" for output in outputs]
    if grpc:
        headers += [output + ".grpc.pb.h" for output in outputs]
        sources += [output + ".grpc.pb.cc" for output in outputs]
    command = ["mkdir -p $(RULEDIR)/%s &&" % _OUT, _PROTOC]
    command += ["--proto_path=" + path for path in proto_path]
    command.append("--cpp_out=$(RULEDIR)/" + _OUT)
    if grpc:
        command += [
            "--plugin=protoc-gen-grpc=" + _GRPC_PLUGIN,
            "--grpc_out=$(RULEDIR)/" + _OUT,
        ]
    native.genrule(
        name = name + "_generate",
        srcs = inputs,
        outs = headers + sources,
        cmd = " ".join(command + files),
        visibility = ["//visibility:private"],
    )
    native.cc_library(
        name = name,
        srcs = sources,
        hdrs = headers,
        # Generated code is not ours: its warnings are off, and `includes` makes
        # its headers system headers for whoever depends on it.
        copts = ["-w"],
        includes = [_OUT],
        deps = deps + ["//third_party:protobuf"] + (["//third_party:grpc"] if grpc else []),
        **kwargs
    )

def selari_proto_library(name, srcs, deps = [], grpc = False, visibility = None, **kwargs):
    """Generates and compiles the C++ code of this package's .proto files.

    Args:
      name: the cc_library to depend on.
      srcs: .proto files of this package, which must lie under //proto.
      deps: other selari_proto_library targets whose files these import.
      grpc: also generate the service stubs (`x.grpc.pb.h`).
      visibility: as usual.
      **kwargs: passed to cc_library.
    """
    package = native.package_name()
    if not package.startswith(_ROOT + "/"):
        fail("selari_proto_library must be used below //%s" % _ROOT)

    # protoc reads the imported files too, so they are inputs of the rule.
    native.filegroup(
        name = name + "_srcs",
        srcs = srcs + [dep + "_srcs" for dep in deps],
        visibility = visibility,
    )
    _generate(
        name = name,
        stems = ["%s/%s" % (package[len(_ROOT) + 1:], src[:-len(".proto")]) for src in srcs],
        inputs = [":" + name + "_srcs"],
        proto_path = [_ROOT],
        files = ["%s/%s" % (package, src) for src in srcs],
        grpc = grpc,
        deps = deps,
        visibility = visibility,
        **kwargs
    )

def system_proto_library(name, src, root, deps = [], grpc = False, **kwargs):
    """The same for a .proto file that a system package installs.

    Args:
      name: the cc_library to depend on.
      src: the file, relative to `root`; also how it is included.
      root: absolute folder of the package's protos.
      deps: targets whose files it imports.
      grpc: also generate the service stubs.
      **kwargs: passed to cc_library.
    """
    _generate(
        name = name,
        stems = [src[:-len(".proto")]],
        inputs = [],
        proto_path = [root],
        files = ["%s/%s" % (root, src)],
        grpc = grpc,
        deps = deps,
        alwayslink = True,
        **kwargs
    )
