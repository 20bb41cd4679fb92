"""The values of logit_tolerances.h and of layers/softmax/softmax_error.h, which derive them, for tests in Python."""

SOFTMAX_ERROR = 2e-6  # of a probability in fp32, its logits given

# Of a logit of the built-in network, from the exact one: in fp32, and in tf32 or fp16.
LOGIT_ERROR = 1e-4
SHORT_LOGIT_ERROR = 0.05

# Between two answers, one of which may be in tf32 or fp16 for SHORT_.
LOGIT_TOLERANCE = 2 * LOGIT_ERROR
SHORT_LOGIT_TOLERANCE = 2 * SHORT_LOGIT_ERROR

# Between two probabilities of a sample digit.
PROBABILITY_TOLERANCE = 1e-5
SHORT_PROBABILITY_TOLERANCE = 1e-3


def probability_bound(p, logit_error):
    """Error of probability `p` if each logit has an error of up to `logit_error`."""
    return 2 * p * (1 - p) * logit_error + SOFTMAX_ERROR
