import json

for step in json.load(open("replay.json"))["problems"][0]["curve"]:
    print(step["evaluation"], round(step["simulated_s"], 2), round(step["best_us"], 1), round(step["percent_of_best"], 1))
