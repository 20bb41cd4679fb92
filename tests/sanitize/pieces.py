"""Which tests of the GPU suite run under compute-sanitizer, and how they are divided into pieces that run in parallel.

A rule selects tests of one program by a pattern on "Suite.Test/parameter". Tests with the same group `piece`, or all
tests of a rule without this group, make one piece. A test belongs to the first rule that selects it, for the tools of
that rule. A test that no rule selects must be in LEFT_OUT, with the reason; otherwise the run fails. So a new backend,
rung or test cannot be forgotten.
"""

from collections import namedtuple

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")

Rule = namedtuple("Rule", "program pattern tools")
LeftOut = namedtuple("LeftOut", "program pattern reason")


def rule(program, pattern, tools=TOOLS):
    return Rule(program, pattern, tools)


# racecheck sees hazards in shared memory alone, and synccheck the use of barriers and of a warp's operations. Kernels
# of these files have none of either, or no shared memory; a test compares that with the files.
NO_BARRIER_FILES = (
    "layers/activation/gpu/direct.cu",
    "layers/gemm/gpu/bias_rectifier.cu",
    "layers/lrn/gpu/direct.cu",
    "layers/pairwise/gpu/direct.cu",
    "layers/rearrange/gpu/copy.cu",
    "layers/relu/gpu/direct.cu",
    "layers/conv/gpu/im2col_gemm.cu",
    "layers/conv/gpu/depthwise.cu",
    "layers/conv/gpu/depthwise/channels.cuh",
    "layers/conv/gpu/depthwise/rows.cuh",
)
NO_SHARED_FILES = ("layers/linear/gpu/warp_reduce.cu", "layers/pool/gpu/direct.cu")
NO_BARRIER_CONV = "depthwise|im2col_gemm"
NO_BARRIER = r"(activation|lrn|pairwise|relu)_direct|(concat|pad|reshape|slice|transpose)_copy|linear_cublas"
NO_SHARED = r"(avg|max)_pool2d_direct|linear_warp_reduce"

RULES = (
    # Convolutions, rungs and studies, once on each small problem: tests/sanitize/kernels_test.cpp.
    # cuDNN launches none of our kernels, and loads and checks some hundred of its own: a few problems a piece.
    rule(
        "sanitize_kernels", r"Registry/ConvOnce\.RunsOnBareMemory/(?P<piece>cudnn_(lenet|regress)_\d+)", ("memcheck",)
    ),
    rule(
        "sanitize_kernels",
        rf"Registry/ConvOnce\.RunsOnBareMemory/(?P<piece>{NO_BARRIER_CONV})_\w+",
        ("memcheck", "initcheck"),
    ),
    # Launches of two or more tiles in every direction: they reveal a missing barrier or bounds check.
    rule(
        "sanitize_kernels",
        r"Registry/ConvOnce\.RunsOnBareMemory/(?P<piece>(?!cudnn)\w+_launches_\d+)",
        ("memcheck", "racecheck"),
    ),
    rule(
        "sanitize_kernels",
        r"Registry/ConvOnce\.RunsOnBareMemory/(?P<piece>(?!cudnn)\w+_(tails|depthwise|outputs|tiles))",
    ),
    rule("sanitize_kernels", r"Registry/ConvOnce\.RunsOnBareMemory/(?P<piece>(?!cudnn)\w+)_\w+"),
    rule(
        "sanitize_kernels",
        r"Rungs/(?P<piece>RungOnce\.RunsOnBareMemory/(direct|implicit_gemm_\d\d|tensor_core_\d\d))_.*",
    ),
    rule("sanitize_kernels", r"(?P<piece>StudiesOnce\.\w+)"),
    rule("study_kernels", r"StudyKernels\.ConvolveTwo\w+"),
    rule("layers_gpu", r"Linear\.(?P<piece>HasEveryTileRight)", ("memcheck", "racecheck", "synccheck")),
    rule(
        "layers_gpu",
        r"Modes/LinearInMode\.(?P<piece>HasEveryTileOfTensorCoresRight/\w+)",
        ("memcheck", "synccheck"),
    ),
    # racecheck and synccheck look into blocks, of which these only have more.
    rule("layers_gpu", r"Backends/LayerSubjects\.(?P<piece>AgreeOnLargeProblems/\w+)", ("memcheck",)),
    # The kernels of AgreeWithTheReference at other addresses, of which memcheck reports a misaligned access.
    rule("layers_gpu", r"Backends/LayerSubjects\.(?P<piece>TakeInputsAtAnyAddress/\w+)", ("memcheck",)),
    rule(
        "layers_gpu",
        rf"Backends/LayerSubjects\.(?P<piece>AgreeWithTheReference/({NO_BARRIER}))",
        ("memcheck", "initcheck"),
    ),
    rule(
        "layers_gpu",
        rf"Backends/LayerSubjects\.(?P<piece>AgreeWithTheReference/({NO_SHARED}))",
        ("memcheck", "initcheck", "synccheck"),
    ),
    rule("layers_gpu", r"Backends/LayerSubjects\.(?P<piece>AgreeWithTheReference/\w+)"),
    rule("layers_gpu", r"(?P<piece>CublasGemm\.\w+)", ("memcheck", "initcheck")),
    rule("layers_gpu", r"(?P<piece>(?!Large\.)\w+)\.(?!SeesPlanted).*"),
    rule("layers_gpu", r"Kernels/(?P<piece>EarlyLaunches\.\w+)/\w+"),
    rule("lenet_gpu", r"GoldenGpu\.EveryLinearBackend\w+"),
    rule("lenet_gpu", r"GoldenGpu\.(?P<piece>FusedPooling\w+|ACapturedGraph\w+|TensorsOfFp16\w+)", ("memcheck",)),
    # racecheck checks races within blocks; these batches add only blocks with tails of the same size, so that minutes
    # of racecheck would find nothing more.
    rule(
        "fused_gpu",
        r"(Batches/FusedBatch|Fused)\.(?P<piece>ThePosition\w+|PredictionsAreTheLogitsOwn)"
        r"(/([345]|1[56]|3[12]|6[34]|9[67]|\d{3,4}))?",
        ("memcheck", "initcheck", "synccheck"),
    ),
    rule("fused_gpu", r"Batches/FusedBatch\.(?P<piece>PredictionsAreTheLogitsOwn/\d)\d*"),
    rule("fused_gpu", r"Kernels/FusedTurns\.(?P<piece>BlocksTakeSeveralTurns/\w+)"),
    # The kernels of PredictionsAreTheLogitsOwn, with other weights.
    rule("fused_gpu", r"Fused\.(?P<piece>TheLowestOfEqual\w+)", ("memcheck", "initcheck", "synccheck")),
    rule("fused_gpu", r"Fused\.(?P<piece>(?!LogitsAgree|ReadsTheMnist|SeesPlanted|LargeBatches)\w+)"),
    # racecheck slows a resident kernel down so much that only short calls of it end in time.
    rule("resident_gpu", r"Clusters/ResidentClusters\.(?P<piece>AnswerAFewImages)/\d+"),
    rule(
        "resident_gpu",
        r"(Clusters/)?(?P<piece>ResidentClusters\.\w+|Resident\.(?!EndsWhen)\w+|LatencyModes\.EachGives\w+)(/\d+)?",
        ("memcheck", "initcheck", "synccheck"),
    ),
    rule("resident_gpu", r".*"),
    rule("resident_lease_gpu", r".*"),
    rule("framework_gpu", r"(?!GpuTensor\.RunsOutOfMemory|GpuStream\.AFailedCapture).*"),
    rule("embedding_gpu", r"(?P<piece>\w+\.(?!FusedIsFaster)\w+).*", ("memcheck",)),
    rule("devices_gpu", r"(?P<piece>DevicesGpu\.(AllOfOne|HasABus)\w+)", ("memcheck",)),
    rule("faults_memory_gpu", r"(?!.*MoreThanTheDeviceHas).*", ("memcheck",)),
    rule("faults_threads_gpu", r"Threads\.(?P<piece>DifferentPlans\w+|BuildAtOnce)", ("memcheck",)),
)

DELIBERATE = "fails on purpose, which a tool correctly reports"
ONCE = "the kernels of sanitize_kernels, judged: up to fifty times the work, most of it waiting for the device"
OFTEN = "the kernels of the pieces above, more often"
WHOLE = "times whole programs, whose kernels the other pieces run"

LEFT_OUT = (
    LeftOut(
        "sanitize_kernels",
        r"Registry/ConvOnce\.RunsOnBareMemory/cudnn_(?!lenet_|regress_)\w+",
        "cuDNN's own kernels, which its choice tries on the other two lists too; all lists take a tool an hour",
    ),
    LeftOut("conv_gpu", r".*", ONCE),
    LeftOut("conv_ladder", r".*", ONCE),
    LeftOut("conv_sizes", r".*", "tensors of 2^31 elements take a tool minutes each"),
    LeftOut("study_kernels", r"StudyKernels\.(Multiply|Convolve)CorrectlyAtEverySize", ONCE),
    LeftOut("study_kernels", r"StudyKernels\.RefuseBlocks\w+", DELIBERATE),
    LeftOut("layers_gpu", r"Backends/LayerSubjects\.SeesPlantedFaults/.*", DELIBERATE),
    LeftOut(
        "layers_gpu",
        r"Backends/LayerSubjects\.ShareTheWorkOutAmongThreads/.*",
        "subjects of AgreeWithTheReference; the threads are those of a CPU",
    ),
    LeftOut(
        "layers_gpu",
        r"Large\.\w+",
        "gigabytes, which a tool would look at value by value; the kernels of the pieces above",
    ),
    LeftOut("lenet_gpu", r"GoldenGpu\.(EveryPair\w+|TheBatchDoesNot\w+)", OFTEN),
    LeftOut("fused_gpu", r"Fused\.(LogitsAgree\w+|ReadsTheMnist\w+|LargeBatches\w+)", OFTEN),
    LeftOut("fused_gpu", r"Fused\.SeesPlantedFaults", DELIBERATE),
    LeftOut("framework_gpu", r"GpuTensor\.RunsOutOfMemory\w+|GpuStream\.AFailedCapture\w+", DELIBERATE),
    LeftOut("cheats_gpu", r".*", DELIBERATE),
    LeftOut("faults_programs_gpu", r".*", DELIBERATE),
    LeftOut("faults_hang_gpu", r".*", DELIBERATE),
    LeftOut("faults_memory_gpu", r".*MoreThanTheDeviceHas.*", DELIBERATE),
    LeftOut("faults_threads_gpu", r"Threads\.(TwoOn|TheCpu|OneGraph|Resident)\w+", OFTEN),
    LeftOut("faults_leaks_gpu", r".*", OFTEN),
    LeftOut("determinism_gpu", r".*", OFTEN),
    LeftOut("capture_gpu", r"Backends/Capture.*", OFTEN),
    LeftOut("capture_gpu", r"PlantedRun.*", DELIBERATE),
    LeftOut("devices_gpu", r"DevicesGpu\.(?!AllOfOne|HasABus)\w+", "needs two GPUs; embedding_gpu has its kernels"),
    LeftOut("embedding_gpu", r"ModelGpu\.FusedIsFaster\w+", "compares times, which a tool distorts"),
    LeftOut("ceilings_gpu", r".*", "compares rates, which a tool distorts"),
    LeftOut("cli_gpu", r".*", WHOLE),
)
