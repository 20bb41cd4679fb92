"""Classifies the images of Parquet files on a Ray cluster and writes Parquet files.

Each row has an id and an image: 784 bytes, or a list of as many uint8. The answers have id, label and probability.
Ray records the ids of the files that it has written. If the run is killed, start it again with the same arguments:
it reads only the other rows, and removes files that were being written.

    python ray_parquet.py INPUT OUTPUT --checkpoint FOLDER [--actors 4] [--gpus 1]

INPUT, OUTPUT and FOLDER are paths that every node of the cluster sees. Without a cluster it starts Ray on this machine.
"""

import argparse

import ray
import ray.data
from ray.data.checkpoint import CheckpointConfig

import lenslet.ray


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input", help="folder of Parquet files")
    parser.add_argument("output", help="folder for the answers")
    parser.add_argument("--checkpoint", required=True, help="folder of the ids that are done")
    parser.add_argument("--id", default="id", help="column with a different value in every row [id]")
    parser.add_argument("--column", default="image", help="column with the images [image]")
    parser.add_argument("--model", help="weights or network; every node must see the path [built in]")
    parser.add_argument("--actors", type=int, default=4, help="models in the cluster [4]")
    parser.add_argument("--cpus", type=float, default=1, help="CPU threads of each [1]")
    parser.add_argument("--gpus", type=float, default=0, help="GPUs of each [0]")
    parser.add_argument(
        "--block-bytes", type=int, help="input whose answers are written and recorded together [Ray's 128 MiB]"
    )
    parser.add_argument("--batch-size", type=int, default=16384, help="images of a call [16384]")
    args = parser.parse_args()

    ray.init()
    context = ray.data.DataContext.get_current()
    # Kept after success, so that a second start finds nothing to do.
    context.checkpoint_config = CheckpointConfig(args.id, args.checkpoint, delete_checkpoint_on_success=False)
    if args.block_bytes is not None:
        context.target_max_block_size = args.block_bytes
    ray.data.read_parquet(args.input, columns=[args.id, args.column]).map_batches(
        lenslet.ray.Predictor,
        fn_constructor_kwargs={"model": args.model, "column": args.column, "keep": [args.id]},
        compute=ray.data.ActorPoolStrategy(size=args.actors),
        num_cpus=args.cpus,
        num_gpus=args.gpus,
        batch_format="numpy",
        batch_size=args.batch_size,
    ).write_parquet(args.output, mode="append")


if __name__ == "__main__":
    main()
