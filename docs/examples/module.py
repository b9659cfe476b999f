import tiletune

config = {"templates": ["sgemm_coalesced"], "problems": ["512x512x512"]}
rows = tiletune.sweep(config, db="module.db", gpu="H100", quiet=True)
print(rows.groupby("BM")["predicted_us"].min().round(1))

best = tiletune.best(db="module.db")[0]
print(best["kernel_expression"], best["definition"]["launches"][0]["grid"])
tiletune.export("tuned", format="cuda", db="module.db")
