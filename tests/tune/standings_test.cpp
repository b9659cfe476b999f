#include <gtest/gtest.h>

#include "spec/load.h"
#include "tune/task_queue.h"

namespace tiletune {
namespace standings_test {

/// Stages of two templates that share a workload.
class StandingsTest : public testing::Test {
 protected:
  StandingsTest() {
    LoadOptions options;
    const std::filesystem::path home = TILETUNE_SOURCE_DIR;
    options.template_folders = {home / "kernel_templates"};
    spec_ = load_tune_spec(home / "configs/quick.json", options);
    tasks_ = plan_tasks(spec_);
  }

  static Trial row(const std::string& key, double median_us) {
    Trial trial;
    trial.key = key;
    trial.outcome = Outcome::ok;
    trial.median_us = median_us;
    trial.ci_high_us = 1.001 * median_us;
    trial.timed_in = "sampling";
    return trial;
  }

  void add(const Trial& trial, std::size_t task = 0) { standings_.add(tasks_[task], 7, trial, nullptr); }

  std::string selected(const Standings& standings) const {
    std::string keys;
    for (const Contender& entry : standings.selection(0).contenders) keys += entry.key + " ";
    return keys;
  }
  std::string selected() const { return selected(standings_); }

  TuneSpec spec_;
  std::vector<Task> tasks_;
  FinalsPolicy policy_{.configurations = 3, .within_percent = 2};
  Standings standings_{policy_, false};
};

TEST_F(StandingsTest, TheBestSoManyTakePartAndAllThatAreCloseToTheFirst) {
  for (const auto& [key, us] : std::vector<std::pair<std::string, double>>{
           {"e", 130}, {"d", 120}, {"b", 101.5}, {"c", 110}, {"a", 100}})
    add(row(key, us));
  EXPECT_EQ(selected(), "a b c ");
  add(row("f", 102));
  add(row("g", 102.1));
  EXPECT_EQ(selected(), "a b f ") << "g is the fourth, and more than 2% away";
  add(row("h", 101));
  EXPECT_EQ(selected(), "a h b f ");
}

TEST_F(StandingsTest, ANewLeaderSendsAwayWhoIsNoLongerClose) {
  for (int i = 0; i < 6; ++i) add(row(std::string(1, static_cast<char>('a' + i)), 100 + 0.1 * i));
  EXPECT_EQ(selected(), "a b c d e f ");
  add(row("z", 90));
  EXPECT_EQ(selected(), "z a b ");
}

TEST_F(StandingsTest, TimesBeforeTheFinalsDecideSoThatTheSameTakePartAgain) {
  for (const auto& [key, us] :
       std::vector<std::pair<std::string, double>>{{"a", 100}, {"b", 104}, {"c", 105}, {"d", 106}})
    add(row(key, us));
  EXPECT_EQ(selected(), "a b c ");
  Standings again(policy_, false);
  const std::vector<std::tuple<std::string, double, double>> after{
      {"a", 105, 100}, {"b", 104.5, 104}, {"c", 107, 105}};
  for (const auto& [key, us, first_us] : after) {
    Trial trial = row(key, us);
    trial.first_median_us = first_us;
    trial.timed_in = "final";
    trial.sweep_id = 5;
    again.add(tasks_[0], 7, trial, nullptr);
  }
  again.add(tasks_[0], 7, row("d", 106), nullptr);
  EXPECT_EQ(selected(again), "a b c ") << "although d is now within 2% of b";
  for (const Contender& entry : again.selection(0).contenders) EXPECT_EQ(entry.final_of, 5);
}

TEST_F(StandingsTest, OneInWhichFinalsFoundAFaultKeepsItsSeatAndDoesNotTakePart) {
  Trial faulty = row("a", 90);
  faulty.outcome = Outcome::wrong_result;
  faulty.timed_in = "final";
  add(faulty);
  for (const auto& [key, us] :
       std::vector<std::pair<std::string, double>>{{"b", 100}, {"c", 110}, {"d", 120}})
    add(row(key, us));
  EXPECT_EQ(selected(), "b c ");
  EXPECT_EQ(standings_.leader(tasks_[0])->median_us, 100);
}

TEST_F(StandingsTest, RowsThatFailedWithoutFinalsTakeNoPart) {
  Trial faulty = row("a", 90);
  faulty.outcome = Outcome::unstable;
  add(faulty);
  Trial predicted = row("p", 80);
  predicted.source = Source::predicted;
  add(predicted);
  EXPECT_EQ(selected(), "");
  EXPECT_EQ(standings_.leader(tasks_[0]), nullptr);
}

TEST_F(StandingsTest, AHundredAtMostAndItIsSaidThatThereAreMore) {
  for (int i = 0; i < 100; ++i) add(row(std::to_string(i), 100 + 0.001 * i));
  EXPECT_EQ(standings_.selection(0).contenders.size(), 100U);
  EXPECT_FALSE(standings_.selection(0).cut);
  for (int i = 100; i < 300; ++i) add(row(std::to_string(i), 100 + 0.001 * i));
  EXPECT_EQ(standings_.selection(0).contenders.size(), 100U);
  EXPECT_TRUE(standings_.selection(0).cut);
  add(row("far ahead", 50));
  EXPECT_FALSE(standings_.selection(0).cut) << "nobody is close any more";
}

TEST_F(StandingsTest, WhatADisqualifiedLeaderHadScreenedOutIsReleasedAsFarAsTheNextDoesNotScreenIt) {
  const auto screened = [&](std::uint64_t index, double median_us) {
    Trial trial = row("s" + std::to_string(index), median_us);
    trial.outcome = Outcome::screened_out;
    standings_.add(tasks_[0], index, trial, nullptr);
  };
  add(row("honest", 100));
  add(row("faulty", 40));
  screened(1, 70);
  screened(2, 149);
  screened(3, 170);
  EXPECT_TRUE(standings_.disqualify(tasks_[0], "honest too", 1.5).empty()) << "it does not lead";
  const std::vector<Screened> again = standings_.disqualify(tasks_[0], "faulty", 1.5);
  ASSERT_EQ(again.size(), 2U);
  EXPECT_EQ(again[0].index, 1U);
  EXPECT_EQ(again[1].index, 2U);
  EXPECT_EQ(standings_.leader(tasks_[0])->key, "honest");
  EXPECT_EQ(selected(), "honest ");
  EXPECT_EQ(standings_.disqualify(tasks_[0], "honest", 1.5).size(), 1U) << "nobody is left to screen it out";
  EXPECT_EQ(standings_.leader(tasks_[0]), nullptr);
}

TEST_F(StandingsTest, ARowThatComesTwiceTakesPartOnce) {
  add(row("a", 100));
  add(row("a", 101));
  EXPECT_EQ(selected(), "a ");
}

TEST_F(StandingsTest, TheLeaderIsOfTheGroupOrOfTheTemplate) {
  add(row("a", 100), 0);
  add(row("b", 200), 1);
  EXPECT_EQ(standings_.leader(tasks_[1])->median_us, 100);
  Standings by_template(policy_, true);
  by_template.add(tasks_[0], 0, row("a", 100), nullptr);
  EXPECT_EQ(by_template.leader(tasks_[1]), nullptr);
  by_template.add(tasks_[1], 0, row("b", 200), nullptr);
  EXPECT_EQ(by_template.leader(tasks_[1])->median_us, 200);
  EXPECT_EQ(by_template.leader(tasks_[0])->median_us, 100);
}

TEST_F(StandingsTest, ALeaderWhoseFinalsWereSlowerStillScreensOutWhomItHasScreenedOut) {
  Trial leader = row("a", 103);
  leader.first_median_us = 100;
  leader.timed_in = "final";
  add(leader);
  EXPECT_NEAR(standings_.leader(tasks_[0])->upper_us, 103.103, 1e-9);
  EXPECT_EQ(standings_.leader(tasks_[0])->lowest_upper_us, 100);
}

TEST_F(StandingsTest, WithoutFinalsNothingIsKeptOfWhatWasScreenedOut) {
  policy_.configurations = 0;
  Standings without_finals(policy_, false);
  for (Standings* standings : {&standings_, &without_finals}) {
    Trial slow = row("slow", 200);
    slow.outcome = Outcome::screened_out;
    standings->add(tasks_[0], 1, row("a", 100), nullptr);
    standings->add(tasks_[0], 2, row("b", 190), nullptr);
    standings->add(tasks_[0], 3, slow, nullptr);
    EXPECT_EQ(standings->disqualify(tasks_[0], "a", 1.5).size(), standings == &standings_ ? 1U : 0U);
  }
}

}  // namespace standings_test
}  // namespace tiletune
