import json

for entry in json.load(open("best.json"))["best"]:
    print(entry["problem"], entry["kernel_expression"], entry["launch"]["grid"], round(entry["timing"]["median_us"], 1))
