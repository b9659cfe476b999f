"""What tools/check_report finds out about a page that is open in Chromium."""
import base64
import contextlib
import re
import sqlite3

from report_databases import HOSTILE_PARAMETER, SHOWN, outcomes

AT_ONCE_MS = 1000  # on a machine that compiles meanwhile; 50 to 150 otherwise


class Checks:
    def __init__(self):
        self.failed = 0
        self.passed = 0

    def that(self, holds, what):
        self.passed += bool(holds)
        self.failed += not holds
        if not holds:
            print(f"FAILED: {what}")

    def equal(self, found, expected, what):
        self.that(found == expected, f"{what}: {found!r}, expected {expected!r}")


def column(page, name):
    """What the ranking's page of rows shows in the column."""
    return page.evaluate(f"""(() => {{
        const place = [...document.querySelectorAll('#ranking thead th')].findIndex((th) => th.textContent === '{name}');
        return [...document.querySelectorAll('#ranking tbody tr:not(.details)')].map((tr) => tr.children[place].textContent);
    }})()""")


def coloured_pixels(page):
    """By chart, the pixels of marks: everything else of a chart is grey."""
    return page.evaluate("""Object.fromEntries([...document.querySelectorAll('.chart')].map((chart) => {
        const canvas = chart.querySelector('canvas');
        if (!canvas) return [chart.id, 0];
        const copy = Object.assign(document.createElement('canvas'), {width: canvas.width, height: canvas.height})
            .getContext('2d', {willReadFrequently: true});
        copy.drawImage(canvas, 0, 0);
        const {data} = copy.getImageData(0, 0, canvas.width, canvas.height);
        let count = 0;
        for (let i = 0; i < data.length; i += 4) {
          const [low, , high] = [data[i], data[i + 1], data[i + 2]].sort((a, b) => a - b);
          count += data[i + 3] > 0 && high - low > 40;
        }
        return [chart.id, count];
    }))""")


def wait_for_charts(page):
    page.wait_for("document.documentElement.dataset.charts === 'drawn'")


def click(page, selector):
    """The milliseconds that it took."""
    return page.evaluate(f"""(() => {{ const start = performance.now();
        document.querySelector({selector!r}).click(); return performance.now() - start; }})()""")


def filter_rows(page, text):
    return page.evaluate(f"""(() => {{ const start = performance.now(); const box = document.getElementById('ranking-table-filter');
        box.value = {text!r}; box.dispatchEvent(new Event('input')); return performance.now() - start; }})()""")


def press(page, key, code):
    for kind in ("keyDown", "keyUp"):
        page.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code,
                  **({"text": "\r"} if key == "Enter" and kind == "keyDown" else {}))


def check_quiet(page, checks, what):
    checks.equal(page.complaints(), [], f"{what}: complaints")
    outside = [url for url in page.requests() if not url.startswith(("file:", "data:"))]
    checks.equal(outside, [], f"{what}: requests")
    page.events.clear()


def check_sample(page, address, checks):
    """A recorded sweep, as people look at it."""
    for width, dark in ((1280, False), (390, True)):
        page.open(address, width, dark=dark)
        wait_for_charts(page)
        for chart, pixels in coloured_pixels(page).items():
            checks.that(pixels > 20, f"{chart} has {pixels} coloured pixels, {width} wide")
        checks.equal(page.evaluate("document.documentElement.scrollWidth"), width, "the page's width")
    shades = [page.evaluate("getComputedStyle(document.body).backgroundColor")]
    click(page, "#theme")  # from auto to light
    wait_for_charts(page)
    shades.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    checks.that(shades[0] != shades[1], f"the switch of themes does nothing: {shades}")
    paper = base64.b64decode(page.call("Page.printToPDF")["data"])
    checks.that(paper.startswith(b"%PDF") and len(paper) > 20_000, f"printed, the page has {len(paper)} bytes")
    sections = page.evaluate("[...document.querySelectorAll('section')].map((section) => section.id)")
    checks.equal(sections, ["summary", "ranking", "resources", "heat-map", "importance", "history",
                            "distribution", "roofline", "outcomes"], "sections")
    check_quiet(page, checks, "a recorded sweep")


def check_keyboard(page, address, checks):
    page.open(address)
    wait_for_charts(page)
    press(page, "Tab", 9)
    checks.equal(page.evaluate("document.activeElement.textContent"), "Skip to the ranking", "what Tab reaches first")
    page.evaluate("document.querySelector('#ranking thead button').focus()")
    press(page, "Enter", 13)
    checks.equal(page.evaluate("document.querySelector('#ranking th').ariaSort"), "ascending", "Enter on a header")
    page.evaluate("document.querySelector('#ranking .open').focus()")
    press(page, "Enter", 13)
    details = page.evaluate("document.querySelector('#ranking .details')?.textContent ?? ''")
    checks.that("tiletune bench" in details, "Enter does not open a row")
    checks.equal(page.evaluate("document.activeElement.ariaExpanded"), "true", "the focus after opening a row")


def check_table(page, address, database, checks):
    """Sorting, filtering and paging of many rows."""
    with contextlib.closing(sqlite3.connect(database)) as connection:
        def ask(condition):
            return connection.execute(f"SELECT count(*) FROM trial WHERE median_us > 0 AND {condition}").fetchone()[0]
        timed, narrowed = ask("1"), ask("json_extract(parameters, '$.BM') = 128 AND registers < 100")
        screened = ask("outcome = 'screened_out'")
    page.open(address)
    wait_for_charts(page)
    status = "document.querySelector('#ranking .status').textContent"
    checks.equal(page.evaluate(status), f"Rows 1 to 25 of {timed}", "rows")
    place = page.evaluate("[...document.querySelectorAll('#ranking thead th')].findIndex((th) => th.textContent === 'registers')")
    header = f"#ranking thead th:nth-child({place + 1}) button"
    times = [click(page, header)]
    checks.equal(set(column(page, "registers")), {"32"}, "sorted by registers")
    times.append(click(page, header))
    checks.equal(column(page, "registers")[0], "231", "sorted by registers, descending")
    times.append(filter_rows(page, "BM=128 registers<100"))
    checks.that(page.evaluate(status).endswith(f" of {narrowed} that match, of {timed}"), page.evaluate(status))
    checks.that(all("BM=128 " in text for text in column(page, "parameters")), "the filter lets other rows through")
    times.append(filter_rows(page, "SCREENED"))
    checks.that(f" {screened} that match" in page.evaluate(status), page.evaluate(status))
    filter_rows(page, "nothing is called this")
    checks.equal(page.evaluate(status), "No row matches the filter.", "a filter that nothing matches")
    filter_rows(page, "")
    click(page, ".pager button[aria-label='Last page']")
    checks.that(page.evaluate(status).endswith(f"to {timed} of {timed}"), page.evaluate(status))
    checks.that(max(times) < AT_ONCE_MS, f"sorting and filtering take {times} ms")
    check_choosers(page, checks)
    checks.equal(page.evaluate("[...document.querySelectorAll('#failures tbody td:nth-child(2)')].map((td) => td.textContent)"),
                 ["15", "15"], "refused rows, by template")
    check_quiet(page, checks, "10,000 configurations")


def check_choosers(page, checks):
    heat = "document.querySelector('#heat-map figure').textContent"
    before, pixels = page.evaluate(heat), coloured_pixels(page)
    page.evaluate("""(() => { const select = document.querySelectorAll('#heat-map select')[1];
        select.selectedIndex = 2; select.dispatchEvent(new Event('change')); })()""")
    wait_for_charts(page)
    checks.that(page.evaluate(heat) != before, "the heat map's chooser does nothing")
    click(page, ".chip")
    wait_for_charts(page)
    fewer = coloured_pixels(page)
    checks.that(fewer["scatter-registers"] < pixels["scatter-registers"], "hiding a template leaves its points")


def text_of(page, selector):
    return page.evaluate(f"document.querySelector({selector!r})?.textContent ?? ''")


def check_text_is_inert(page, checks, what):
    checks.equal(page.evaluate("typeof window.hacked"), "undefined", f"{what}: code in a name ran")
    checks.equal(page.evaluate("document.querySelectorAll('img, b, td[onclick]').length"), 0, f"{what}: elements made by names")
    check_quiet(page, checks, what)


def check_hostile(page, address, checks):
    page.open(address)
    wait_for_charts(page)
    shown = column(page, "template")
    checks.that(SHOWN in shown, f"the name is not shown as it is: {shown[:1]}")
    checks.that(f"{HOSTILE_PARAMETER}={SHOWN}" in text_of(page, "#ranking"), "the parameter is not shown as it is")
    meanings = page.evaluate("[...document.querySelectorAll('#outcomes .scroll:first-of-type td:nth-child(4)')]"
                             ".map((td) => td.textContent)")
    checks.equal(len(meanings), len(outcomes()), "outcomes")
    checks.that(all(meanings), f"outcomes without a meaning: {meanings}")
    check_text_is_inert(page, checks, "hostile names")


def check_hostile_gpus(page, address, checks):
    page.open(address)
    wait_for_charts(page)
    for section in ("#gpus", "#ladder", "#chooser"):
        checks.that(SHOWN in text_of(page, section), f"{section} does not show names as they are")
    page.evaluate("""(() => { const canvas = document.querySelector('#portability canvas');
        const {left, top, width, height} = canvas.getBoundingClientRect();
        canvas.dispatchEvent(new MouseEvent('mousemove', {bubbles: true, clientX: left + width / 2, clientY: top + height / 2}));
    })()""")
    checks.that(SHOWN in text_of(page, "#tooltip"), f"the tooltip does not show names as they are: {text_of(page, '#tooltip')!r}")
    check_text_is_inert(page, checks, "hostile names of GPUs")


# What only rows that were measured here can claim.
CLAIMS = ("the result was right", "measured in full", "configurations timed", "none was timed",
          "timed configurations", "no other configuration ties", "it takes finals", "screened out", "nothing ran", "first samples")


def check_partly_verified(page, address, checks):
    page.open(address)
    checks.that("not every result was compared" in text_of(page, "#outcomes"),
                f"results that nobody compared: {text_of(page, '#outcomes')[:300]}")


def check_source(page, address, source, checks):
    page.open(address)
    wait_for_charts(page)
    text = page.evaluate("document.getElementById('sections').textContent")
    for claim in CLAIMS + (("the driver refused",) if source == "imported" else ()):
        checks.that(claim not in text, f"{source} rows: {claim!r}")
    expected = {"predicted": "a prediction cannot show ties", "imported": "its time has no interval",
                "replayed": "its time has no interval"}[source]
    checks.that(expected in text, f"{source} rows: nothing says {expected!r}")
    click(page, "#ranking .open")
    command = "tiletune bench" in text_of(page, "#ranking .details")
    checks.equal(command, source != "imported", f"{source} rows: a command to run them again")
    check_quiet(page, checks, f"{source} rows")


def check_words_of_javascript(page, address, checks):
    page.open(address)
    wait_for_charts(page)
    count = page.evaluate("document.querySelectorAll('#heat-map select')[1].options.length")
    for across in range(count):
        page.evaluate(f"""(() => {{ const select = document.querySelectorAll('#heat-map select')[1];
            select.selectedIndex = {across}; select.dispatchEvent(new Event('change')); }})()""")
        wait_for_charts(page)
        pixels = coloured_pixels(page)
        checks.that(min(pixels.values()) > 20, f"charts of words of JavaScript: {pixels}")
    check_quiet(page, checks, "words of JavaScript")


def ratios_of_pairs(page):
    """Every ratio in the table of points, and how many configurations the comparison says there are."""
    page.evaluate("""(() => { const sizes = document.querySelector('#pairs-table .pager select');
        if (sizes) { sizes.selectedIndex = 2; sizes.dispatchEvent(new Event('change')); } })()""")
    return page.evaluate("""[[...document.querySelectorAll('#pairs-table tbody td:last-child')].map((td) => Number(td.textContent)),
        Number(document.querySelector('#gpus .scroll[aria-label="What two GPUs have in common"] td:nth-child(2)').textContent)]""")


def check_two_gpus(page, address, checks):
    page.open(address)
    wait_for_charts(page)
    pixels = coloured_pixels(page)
    for chart in ("portability", "pairs"):
        checks.that(pixels.get(chart, 0) > 20, f"{chart} has {pixels.get(chart)} coloured pixels")
    text = text_of(page, "#gpus")
    checks.that("best of NVIDIA A100" in text and "Spearman" in text, f"two GPUs: {text[:200]}")
    ratios, common = ratios_of_pairs(page)
    checks.equal(len(ratios), common, "points of what two GPUs have in common")
    checks.that(len(set(ratios)) > 1 and max(ratios) <= 8, f"ratios of the cold times: {ratios}")
    page.evaluate("""(() => { const select = document.querySelector('#chooser select');
        select.selectedIndex = [...select.options].findIndex(({textContent: text}) => text.includes('warm'));
        select.dispatchEvent(new Event('change'));
        for (let i = 0; i < 3; ++i) document.getElementById('theme').click(); })()""")
    wait_for_charts(page)
    pixels = coloured_pixels(page)
    checks.that(len(pixels) > 5 and min(pixels.values()) > 20, f"charts when the theme changes as they are drawn: {pixels}")
    ratios, common = ratios_of_pairs(page)
    checks.equal(ratios, [5] * common, "ratios of the warm times")
    check_quiet(page, checks, "two GPUs")


def check_without_charts(page, source, target, checks):
    """As a tiletune built without Vega writes it."""
    text = source.read_text()
    bare = re.sub(r"vegaModule\('vega-util'.*?</script>", lambda _: "</script>", text, count=1, flags=re.DOTALL)
    checks.that(len(bare) < len(text) - 300_000, "the page holds no Vega")
    target.write_text(bare)
    page.open(target.as_uri())
    wait_for_charts(page)
    checks.equal(page.evaluate("document.querySelectorAll('.chart, figure details:not([open])').length"), 0,
                 "without Vega: charts, or tables that are closed")
    checks.that(page.evaluate("document.querySelectorAll('figure tbody tr').length") > 20, "without Vega: rows of tables")
    check_quiet(page, checks, "without Vega")
