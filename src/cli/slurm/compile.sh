run "$tiletune" compile {config} --gpu {model} --shard "$SLURM_ARRAY_TASK_ID/{compile_tasks}"
queue_again_if_late
exit "$status"
