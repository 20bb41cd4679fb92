"""Which tests of the GPU suite run under compute-sanitizer, and how they are cut into pieces that run side by side.

A rule takes tests of one program by a pattern on "Suite.Test/parameter". Tests whose group `piece` is the same, or all of
a rule's where the pattern has none, make one piece. A test belongs to the first rule that takes it, for the tools that the
rule names; one that no rule takes must be in LEFT_OUT, with the reason, else the run is red. So a new backend, rung
or test is in a piece or is noticed.
"""

from collections import namedtuple

TOOLS = ('memcheck', 'racecheck', 'initcheck', 'synccheck')

Rule = namedtuple('Rule', 'program pattern tools')
LeftOut = namedtuple('LeftOut', 'program pattern reason')

# The smallest lists with every path: tiles and their tails, strides, dilation, groups, both layouts. The others hold the
# same kernels at sizes that take minutes under a tool.
LISTS = 'lenet|regress|tails'


def rule(program, pattern, tools=TOOLS):
    return Rule(program, pattern, tools)


RULES = (
    rule('conv_gpu', rf'Registry/ConvBackends\.AgreeWithTheReference/(?P<piece>\w+_({LISTS}))'),
    rule('conv_gpu', r'Registry/ConvBackends\.AgreeWithTheReference/(?P<piece>depthwise_depthwise)'),
    rule('conv_gpu', rf'Registry/ConvPooling\.AgreesWithTheReference/(?P<piece>\w+)_({LISTS})'),
    rule('conv_gpu', r'Registry/(?P<piece>Conv(Workspace|Choice))\..*'),
    rule('conv_gpu', r'Registry/(?P<piece>ConvPooled)\..*'),
    rule('conv_ladder', rf'Rungs/ConvLadderList\.AgreesWithTheReference/(?P<piece>[a-z_]+_\d\d)_\w+_(lenet|regress)'),
    rule('conv_ladder', r'Rungs/ConvLadder\..*'),
    rule('layers_gpu', r'(?P<piece>Linear\.\w+)'),
    rule('layers_gpu', r'(?P<piece>\w+)\..*'),
    rule('lenet_gpu', r'GoldenGpu\.(?P<piece>EveryPairOfBackendsGives\w+|EveryLinearBackend\w+|FusedPooling\w+|ACapturedGraph\w+)'),
    rule('fused_gpu', r'Fused\.(?P<piece>\w+)'),
    rule('resident_gpu', r'(?P<piece>\w+\.\w+)'),
    rule('framework_gpu', r'.*'),
    rule('study_kernels', r'StudyKernels\.(?P<piece>\w+)'),
    rule('embedding_gpu', r'(?P<piece>\w+\.\w+).*', ('memcheck',)),
    rule('faults_memory_gpu', r'.*', ('memcheck',)),
    rule('faults_threads_gpu', r'Threads\.(?P<piece>DifferentPlans\w+|BuildAtOnce)', ('memcheck',)),
)

DELIBERATE = 'fails on purpose, which a tool rightly reports'
LARGER = 'the same kernels as in the lists above, at sizes that take minutes under a tool'
WHOLE = 'times whole programs, whose kernels the other pieces run'

LEFT_OUT = (
    LeftOut('conv_gpu', r'Registry/ConvBackends\..*/(?!depthwise_depthwise$)\w+_(rgb3x3|deep3x3|depthwise|pointwise)|'
            r'Registry/ConvPooling\..*_(rgb3x3|deep3x3|depthwise|pointwise)', LARGER),
    LeftOut('conv_ladder', r'Rungs/ConvLadderList\..*_(rgb3x3|tails|deep3x3)', LARGER),
    LeftOut('conv_ladder', r'ConvLadders\..*', 'runs nothing on the GPU'),
    LeftOut('lenet_gpu', r'GoldenGpu\.(EveryPairOfBackendsReads\w+|TheBatchDoesNot\w+)', LARGER),
    LeftOut('fused_gpu', r'Fused\.ReadsTheMnist\w+', LARGER),
    LeftOut('framework_gpu', r'GpuTensor\.RunsOutOfMemory\w+|GpuStream\.AFailedCapture\w+', DELIBERATE),
    LeftOut('study_kernels', r'StudyKernels\.RefuseBlocks\w+', DELIBERATE),
    LeftOut('cheats_gpu', r'.*', DELIBERATE),
    LeftOut('faults_programs_gpu', r'.*', DELIBERATE),
    LeftOut('faults_memory_gpu', r'.*/Buffers\.MoreThanTheDeviceHas\w+/.*', DELIBERATE),
    LeftOut('faults_threads_gpu', r'Threads\.(TwoOn|TheCpu|OneGraph|Resident)\w+', 'the kernels of the pieces above, more often'),
    LeftOut('faults_leaks_gpu', r'.*', 'the kernels of the pieces above, ten thousand times'),
    LeftOut('determinism_gpu', r'.*', 'the kernels of the pieces above, more often'),
    LeftOut('cli_gpu', r'.*', WHOLE),
)
