// SPDX-License-Identifier: BSD-3-Clause
/* The playground on a page: every <div class="play"> becomes a picture of rows that can be dragged, with a fitted model.

   data-state  the first state, written as in the address of the full page: model=bayes&basis=rbf&scale=2&data=ring
   data-show   the groups of controls to show, of GROUPS; all of them if it is missing
   data-hash   keep the state in the address of the page (for the page with one playground) */
"use strict";

(() => {
    const script = document.currentScript;
    const FULL_PAGE = script && new URL("../../start/play.html", script.src).href;

    const REACH = 4;                                    // both columns are shown from -REACH to REACH
    const MAX_ROWS = 80;
    const KEY_MOVE = 0.1;
    const GRID = 72, GRID_WHILE_DRAGGED = 40;           // cells of the picture along one side
    const NEAR_PIXELS = 16;                             // a press this close to a row takes hold of it
    const FRAME_MS = 700;                               // between steps that are played
    const SETTLED_MS = 150;                             // without a change, before the evidence surface is computed
    const WORK_MS = 25;                                 // on the surface, before the page may respond
    const SCALES = logSpaced(0.1, 30, 10), WIDTHS = logSpaced(0.25, 4, 10);
    const SHOWN_NATS = 20;                              // evidence this far below the best one has the palest colour

    const GROUPS = ["model", "basis", "prior", "average", "steps", "data", "edit", "surface"];
    const MODELS = {
        leastSquares: {label: "Least squares"},
        fisher: {label: "Fisher's discriminant"},
        perceptron: {label: "Perceptron", step: "Update"},
        lda: {label: "LDA: normal classes, one covariance"},
        qda: {label: "QDA: normal classes, two covariances"},
        logistic: {label: "Logistic regression", step: "Newton step"},
        bayes: {label: "Bayesian logistic", isBayesian: true},
    };
    // Clouds of normal rows: number, class, centre, standard deviation.
    const DATA = {
        overlapping: {label: "Overlapping classes", clouds: [[14, 0, [-0.7, -0.4], 1.1], [14, 1, [0.7, 0.4], 1.1]]},
        separable: {label: "Separable classes", clouds: [[4, 0, [-1.1, -2.6], 0.3], [4, 1, [-2.1, -1.2], 0.3], [4, 0, [0.5, -1.5], 0.3],
            [4, 1, [-0.5, -0.1], 0.3], [4, 0, [2.1, -0.4], 0.3], [4, 1, [1.1, 1], 0.3]]},
        far: {label: "Rows far on the correct side", clouds: [[8, 0, [-1, 0.8], 0.4], [8, 1, [0.7, 0.6], 0.4], [5, 1, [3.2, -3], 0.3]]},
        ring: {label: "A class around the other", clouds: [[12, 0, [0, 0], 0.6], ...corners(1, 2.3, 0.5, 3), ...corners(1, 1.7, 0.3, 1)]},
        corners: {label: "Opposite corners", clouds: [[8, 0, [-1.5, -1.5], 0.6], [8, 0, [1.5, 1.5], 0.6], [8, 1, [-1.5, 1.5], 0.6], [8, 1, [1.5, -1.5], 0.6]]},
        spread: {label: "Unequal covariances", clouds: [[14, 0, [-0.8, 0], 0.5], [14, 1, [0.8, 0], 1.5]]},
        few: {label: "Four rows", clouds: [[2, 0, [-1, -0.5], 0.7], [2, 1, [1, 0.5], 0.7]]},
    };

    function corners(t, distance, sd, n) {
        const side = distance / Math.SQRT2;
        return [[-side, -side], [-side, side], [side, -side], [side, side]].map(centre => [n, t, centre, sd]);
    }

    function logSpaced(low, high, n) {
        return Array.from({length: n}, (_, i) => low * (high / low) ** (i / (n - 1)));
    }

    /** Rows of the clouds: the same ones each time. */
    function rowsOf({clouds}) {
        let seed = 12345;
        const uniform = () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648;
        const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
        return clouds.flatMap(([n, t, centre, sd]) =>
            Array.from({length: n}, () => ({x: centre.map(c => inside(c + sd * normal())), t})));
    }

    const inside = value => Math.max(-REACH, Math.min(REACH, Math.round(100 * value) / 100));

    // ---- The state, and how it is written in an address ----

    const INITIAL = {model: "logistic", basis: "linear", scale: 2, width: 1, averaged: true, step: Infinity, data: "overlapping"};

    function encode(state) {
        const text = {model: state.model};
        if (MODELS[state.model].isBayesian) {
            Object.assign(text, {basis: state.basis, scale: +state.scale.toPrecision(4), averaged: +state.averaged});
            if (state.basis === "rbf") text.width = +state.width.toPrecision(4);
        }
        if (MODELS[state.model].step && Number.isFinite(state.step)) text.step = state.step;
        if (state.data) text.data = state.data;
        else text.rows = state.rows.map(({x, t}) => [...x.map(value => Math.round(100 * value)), t].join(".")).join("_");
        return new URLSearchParams(text).toString();
    }

    /** The state that a text describes. What it lacks, or what makes no sense, is taken from `state`. */
    function decode(text, state = INITIAL) {
        const given = new URLSearchParams(text), found = {...state};
        const isOneOf = (name, choices) => given.has(name) && choices.includes(given.get(name));
        if (isOneOf("model", Object.keys(MODELS))) found.model = given.get("model");
        if (isOneOf("basis", ["linear", "rbf"])) found.basis = given.get("basis");
        for (const [name, values] of [["scale", SCALES], ["width", WIDTHS]]) {
            const value = Number(given.get(name));
            if (value > 0) found[name] = Math.min(Math.max(value, values[0]), values[values.length - 1]);
        }
        if (isOneOf("averaged", ["0", "1"])) found.averaged = given.get("averaged") === "1";
        found.step = /^\d+$/.test(given.get("step")) ? Number(given.get("step")) : Infinity;
        const rows = (given.get("rows") || "").split("_").map(row => row.split(".").map(Number))
            .filter(row => row.length === 3 && row.every(Number.isFinite) && (row[2] === 0 || row[2] === 1)).slice(0, MAX_ROWS)
            .map(([a, b, t]) => ({x: [inside(a / 100), inside(b / 100)], t}));
        if (rows.length) return {...found, rows, data: null};
        found.data = isOneOf("data", Object.keys(DATA)) ? given.get("data") : state.data || INITIAL.data;
        return {...found, rows: rowsOf(DATA[found.data])};
    }

    // ---- Elements ----

    function element(tag, properties = {}, ...children) {
        const made = document.createElement(tag);
        for (const [name, value] of Object.entries(properties)) {
            if (name in made) made[name] = value;
            else made.setAttribute(name, value);
        }
        made.append(...children);
        return made;
    }

    const number = (value, digits = 2) => value.toFixed(digits).replace("-", "−");
    const place = ([x1, x2]) => `(${number(x1)}, ${number(x2)})`;
    const classOf = t => `class ${t}`;

    // ---- One playground ----

    class Playground {
        constructor(root) {
            this.root = root;
            this.hasHash = "hash" in root.dataset;
            this.shown = root.dataset.show ? root.dataset.show.split(" ") : GROUPS;
            this.state = decode(root.dataset.state);
            if (this.hasHash && location.hash.length > 1) this.state = decode(location.hash.slice(1), this.state);
            this.selected = null;       // index of a row
            this.newClass = 1;          // of rows that are added
            this.isDragged = false;
            this.build();
            this.listen();
            this.refit();
        }

        // -- Controls --

        build() {
            const {state} = this;
            this.canvas = element("canvas", {tabIndex: 0, role: "application", className: "play-canvas"});
            this.canvas.setAttribute("aria-label", "Rows of two classes, and the fitted model. N and P choose a row, " +
                "arrows move it, space changes its class, A adds a row, Delete removes the row.");
            this.pointed = element("p", {className: "play-pointed"});
            this.problem = element("p", {className: "play-problem", role: "alert"});
            this.status = element("p", {className: "play-status", role: "status"});
            this.numbers = element("dl", {className: "play-numbers"});
            this.bars = element("div", {className: "play-bars", ariaHidden: "true"});
            this.groups = {
                model: this.choice("Model", MODELS, "model"),
                data: this.choice("Rows", DATA, "data"),
                basis: this.choice("Basis", {linear: {label: "Linear"}, rbf: {label: "A Gaussian at each row"}}, "basis"),
                prior: element("div", {className: "play-group"},
                    this.scaleSlider = this.slider("Prior scale", "scale", SCALES),
                    this.widthSlider = this.slider("Width", "width", WIDTHS)),
                average: this.average(),
                steps: this.steps(),
                edit: this.edit(),
                surface: this.surfaceOfEvidence(),
            };
            const link = !this.hasHash && FULL_PAGE && (this.link = element("a", {className: "play-link"}, "Open in the playground"));
            this.root.replaceChildren(element("div", {className: "play-body"},
                element("div", {className: "play-figure"}, this.canvas, this.problem, this.pointed),
                element("div", {className: "play-panel"},
                    ...["model", "data", "basis", "prior", "average", "steps"].map(name => this.groups[name]),
                    this.numbers, this.bars, this.groups.surface, this.groups.edit, link || "", this.status)));
            for (const name of GROUPS) if (!this.shown.includes(name)) this.groups[name].remove();
        }

        choice(label, choices, name) {
            const options = Object.entries(choices).map(([value, {label}]) => element("option", {value}, label));
            const select = element("select", {onchange: () => {
                const change = {[name]: select.value, step: Infinity};
                if (name === "data") Object.assign(change, {rows: rowsOf(DATA[select.value])});
                this.change(change);
            }}, ...options);
            this[`${name}Select`] = select;
            if (name === "data") select.append(this.ownRows = element("option", {value: "", hidden: true}, "Your rows"));
            return element("label", {className: "play-choice"}, label, select);
        }

        slider(label, name, values) {
            const [low, high] = [values[0], values[values.length - 1]].map(Math.log10);
            const output = element("output");
            const input = element("input", {type: "range", min: low, max: high, step: 0.01,
                oninput: () => this.change({[name]: 10 ** Number(input.value)})});
            const made = element("label", {className: "play-slider"}, label, input, output);
            made.show = value => {
                input.value = Math.log10(value);
                input.setAttribute("aria-valuetext", output.value = value.toPrecision(2));
            };
            return made;
        }

        average() {
            const input = element("input", {type: "checkbox", onchange: () => this.change({averaged: input.checked})});
            this.averageInput = input;
            return element("label", {className: "play-check"}, input, "Average over the posterior");
        }

        steps() {
            const button = (text, title, onclick) => element("button", {type: "button", title, onclick}, text);
            this.stepInput = element("input", {type: "range", min: 0, step: 1, ariaLabel: "Step",
                oninput: () => this.change({step: Number(this.stepInput.value)})});
            this.stepLabel = element("span");
            return element("div", {className: "play-group"}, element("label", {className: "play-slider"}, this.stepLabel, this.stepInput),
                element("div", {className: "play-buttons"},
                    button("First", "Return to the start", () => this.change({step: 0})),
                    button("Back", "One step back", () => this.change({step: Math.max(0, this.model.step - 1)})),
                    button("Next", "One step forward", () => this.change({step: this.model.step + 1})),
                    this.playButton = button("Play", "Show all steps", () => this.play())));
        }

        play() {
            if (this.timer) return this.pause();
            if (this.model.step >= this.model.steps.length - 1) this.change({step: 0});
            this.playButton.textContent = "Stop";
            this.timer = setInterval(() => {
                this.change({step: this.model.step + 1});
                if (this.model.step >= this.model.steps.length - 1) this.pause();
            }, FRAME_MS);
        }

        pause() {
            clearInterval(this.timer);
            this.timer = null;
            this.playButton.textContent = "Play";
        }

        edit() {
            const button = (text, onclick) => element("button", {type: "button", onclick}, text);
            this.newClassButton = button("", () => { this.newClass = 1 - this.newClass; this.show(); });
            return element("div", {className: "play-buttons"}, this.newClassButton,
                this.changeButton = button("Change class", () => this.changeClass()),
                this.removeButton = button("Delete row", () => this.removeRow()));
        }

        surfaceOfEvidence() {
            this.surfaceCanvas = element("canvas", {className: "play-surface", onclick: event => this.pickEvidence(event)});
            this.surfaceCanvas.setAttribute("role", "img");
            this.surfaceCaption = element("p", {className: "play-caption"});
            this.bestButton = element("button", {type: "button", onclick: () => this.change(this.best)}, "Go to the largest evidence");
            return element("div", {className: "play-group"}, this.surfaceCanvas, this.surfaceCaption,
                element("div", {className: "play-buttons"}, this.bestButton));
        }

        // -- Events --

        listen() {
            const {canvas} = this;
            canvas.addEventListener("pointerdown", event => this.press(event));
            canvas.addEventListener("pointermove", event => this.move(event));
            canvas.addEventListener("pointerup", event => this.release(event));
            canvas.addEventListener("pointercancel", () => { this.pressed = null; this.isDragged = false; });
            canvas.addEventListener("pointerleave", () => { this.pointed.textContent = ""; });
            canvas.addEventListener("dblclick", () => this.changeClass());
            canvas.addEventListener("keydown", event => this.key(event));
            // A finger on a row moves the row; elsewhere it scrolls the page.
            canvas.addEventListener("touchstart", event => {
                if (this.rowAt(event.touches[0]) !== null) event.preventDefault();
            }, {passive: false});
            new ResizeObserver(() => this.show()).observe(this.root);
            new MutationObserver(() => this.show()).observe(document.documentElement, {attributeFilter: ["data-theme"]});
            if (this.hasHash) addEventListener("hashchange", () => {
                this.selected = null;
                this.change(decode(location.hash.slice(1)));
                this.root.scrollIntoView({block: "nearest"});
            });
        }

        at(event) {
            const box = this.canvas.getBoundingClientRect();
            return [(event.clientX - box.left) / box.width, 1 - (event.clientY - box.top) / box.height].map(u => REACH * (2 * u - 1));
        }

        rowAt(event) {
            const x = this.at(event), radius = 2 * REACH * NEAR_PIXELS / this.canvas.getBoundingClientRect().width;
            const distances = this.state.rows.map(row => Math.hypot(row.x[0] - x[0], row.x[1] - x[1]));
            const nearest = distances.indexOf(Math.min(...distances));
            return distances[nearest] < radius ? nearest : null;
        }

        press(event) {
            this.pressed = {row: this.rowAt(event), x: event.clientX, y: event.clientY};
            this.select(this.pressed.row);
            if (this.pressed.row !== null) this.canvas.setPointerCapture(event.pointerId);
        }

        move(event) {
            const x = this.at(event);
            if (this.pressed && this.pressed.row !== null) {
                this.isDragged = true;
                this.moveRow(this.pressed.row, x);
            } else this.point(x);
        }

        release(event) {
            const {pressed} = this;
            this.pressed = null;
            if (!pressed) return;
            const isTap = Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) < 5;
            if (pressed.row === null && isTap && this.shown.includes("edit")) this.addRow(this.at(event));
            if (this.isDragged) { this.isDragged = false; this.show(); }
        }

        key(event) {
            const {rows} = this.state, n = rows.length, moves = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1]};
            const hasRow = this.selected !== null;
            const letter = event.key.toLowerCase();
            if (event.ctrlKey || event.metaKey || event.altKey) return;
            if (letter === "n" && n) this.select(hasRow ? (this.selected + 1) % n : 0);
            else if (letter === "p" && n) this.select(hasRow ? (this.selected + n - 1) % n : n - 1);
            else if (letter === "a" && this.shown.includes("edit")) this.addRow(hasRow ? rows[this.selected].x.map(v => inside(v + 0.3)) : [0, 0]);
            else if (hasRow && event.key in moves) {
                const size = event.shiftKey ? 5 * KEY_MOVE : KEY_MOVE;
                this.moveRow(this.selected, rows[this.selected].x.map((v, i) => v + size * moves[event.key][i]));
                this.select(this.selected);
            } else if (hasRow && event.key === " ") this.changeClass();
            else if (hasRow && (event.key === "Delete" || event.key === "Backspace")) this.removeRow();
            else return;
            event.preventDefault();
        }

        // -- Changes --

        change(changes) {
            Object.assign(this.state, changes);
            this.refit();
        }

        changeRows(rows) {
            this.change({rows, data: null, step: this.model && this.model.steps ? this.state.step : Infinity});
        }

        select(row) {
            this.selected = row;
            if (row !== null) {
                const {x, t} = this.state.rows[row];
                this.status.textContent = `Row ${row + 1} of ${this.state.rows.length}: ${place(x)}, ${classOf(t)}`;
            } else this.status.textContent = "";
            this.show();
        }

        moveRow(row, x) {
            this.changeRows(this.state.rows.map((old, n) => n === row ? {...old, x: x.map(inside)} : old));
        }

        changeClass() {
            if (this.selected === null) return;
            this.changeRows(this.state.rows.map((old, n) => n === this.selected ? {...old, t: 1 - old.t} : old));
            this.select(this.selected);
        }

        addRow(x) {
            if (this.state.rows.length >= MAX_ROWS) { this.status.textContent = `At most ${MAX_ROWS} rows.`; return; }
            this.changeRows([...this.state.rows, {x: x.map(inside), t: this.newClass}]);
            this.select(this.state.rows.length - 1);
        }

        removeRow() {
            if (this.selected === null) return;
            this.changeRows(this.state.rows.filter((_, n) => n !== this.selected));
            this.select(null);
        }

        refit() {
            try {
                this.model = engine.fit(this.state.model, this.state.rows, this.state);
                this.problem.textContent = "";
            } catch (error) {
                if (!(error instanceof RangeError)) throw error;
                this.model = null;
                this.problem.textContent = error.message;
            }
            if (this.hasHash) {
                clearTimeout(this.hashTimer);       // browsers limit how often an address may change
                this.hashTimer = setTimeout(() => history.replaceState(null, "", `#${encode(this.state)}`), SETTLED_MS);
            }
            this.scheduleSurface();
            this.show();
        }

        // -- What is shown --

        show() {
            if (this.frame) return;
            this.frame = requestAnimationFrame(() => { this.frame = null; this.showControls(); this.draw(); });
        }

        showControls() {
            const {state, model, groups} = this, kind = MODELS[state.model];
            this.modelSelect.value = state.model;
            this.basisSelect.value = state.basis;
            this.ownRows.hidden = Boolean(state.data);
            this.dataSelect.value = state.data || "";
            this.scaleSlider.show(state.scale);
            this.widthSlider.show(state.width);
            this.averageInput.checked = state.averaged;
            for (const name of ["basis", "prior", "average", "surface"]) groups[name].hidden = !kind.isBayesian;
            this.widthSlider.hidden = state.basis !== "rbf";
            groups.steps.hidden = !(kind.step && model);
            if (kind.step && model) {
                const last = model.steps.length - 1;
                Object.assign(this.stepInput, {max: last, value: model.step});
                this.stepLabel.textContent = `${kind.step} ${model.step} of ${last}`;
            }
            this.newClassButton.textContent = `New rows: ${classOf(this.newClass)}`;
            this.changeButton.disabled = this.removeButton.disabled = this.selected === null;
            if (this.link) this.link.href = `${FULL_PAGE}#${encode(state)}`;
            this.showNumbers();
        }

        showNumbers() {
            const {state, model} = this, lines = [];
            if (model) {
                lines.push(["correct rows", `${model.correct} of ${state.rows.length}`]);
                if (state.model === "fisher") lines.push(["J(w)", number(model.criterion, 3)]);
                if (state.model === "perceptron") {
                    const {row} = model.steps[model.step];
                    lines.push(["criterion E_P", number(model.criterion)], ["mistake", row === null ? "–" : `row ${row + 1}`]);
                    if (!model.ended) lines.push(["", "No end after 1000 updates: the classes may overlap."]);
                }
                if (state.model === "logistic") {
                    lines.push(["E(w)", `${number(-model.fit)} nats`]);
                    lines.push(["largest slope", Math.max(...model.steps[model.step].gradient.map(Math.abs)).toExponential(0).replace("-", "−")]);
                    if (model.isSeparable) lines.push(["", "The classes are separable: E falls and w grows without end."]);
                }
                if (state.model === "lda" || state.model === "qda") lines.push(["log-likelihood", `${number(model.logLikelihood)} nats`]);
                if (state.model === "bayes") {
                    lines.push(["fit", number(model.fit)], ["Occam factor (log)", number(model.occam)], ["log evidence", number(model.evidence)]);
                }
            }
            this.numbers.replaceChildren(...lines.flatMap(([name, value]) =>
                name ? [element("dt", {}, name), element("dd", {}, value)] : [element("dd", {className: "play-note"}, value)]));
            const parts = model && state.model === "bayes" ? [["fit", model.fit], ["Occam", model.occam]] : [];
            const whole = Math.max(...parts.map(([, value]) => Math.abs(value))) * 2;
            this.bars.replaceChildren(...parts.map(([name, value]) => element("span",
                {className: `play-bar play-bar-${name.toLowerCase()}`, style: `width: ${100 * Math.abs(value) / whole}%`}, name)));
        }

        point(x) {
            if (!this.model) return;
            const a = this.model.activation(x);
            let text = `at ${place(x)}: a = ${number(a)}`;
            if (this.model.deviation) text += ` ± ${number(this.model.deviation(x))}`;
            if (this.model.probability) text += `, p = ${number(this.model.probability(x))}`;
            this.pointed.textContent = text;
        }

        // -- The picture --

        colours() {
            const style = getComputedStyle(this.root);
            const names = ["ground", "ink", "muted", "zero", "one", "zero-rim", "one-rim", "best"];
            return Object.fromEntries(names.map(name => [name, style.getPropertyValue(`--play-${name}`).trim()]));
        }

        draw() {
            const {canvas} = this, ratio = devicePixelRatio || 1, size = Math.round(canvas.clientWidth * ratio);
            if (!size) return;
            if (canvas.width !== size) canvas.width = canvas.height = size;
            const pen = canvas.getContext("2d"), colour = this.colours();
            const toPixel = ([x1, x2]) => [(x1 + REACH) / (2 * REACH) * size, (REACH - x2) / (2 * REACH) * size];
            pen.fillStyle = colour.ground;
            pen.fillRect(0, 0, size, size);
            if (this.model) this.drawModel(pen, colour, size, ratio, toPixel);
            this.drawAxes(pen, colour, size, ratio, toPixel);
            this.drawRows(pen, colour, ratio, toPixel);
        }

        /** Shades by the probability (or by the class, for a rule), and the lines p = 0.1, 0.5 and 0.9. */
        drawModel(pen, colour, size, ratio, toPixel) {
            const {model} = this, n = this.isDragged ? GRID_WHILE_DRAGGED : GRID;
            const node = i => REACH * (2 * i / n - 1);
            const values = Array.from({length: n + 1}, (_, j) => Array.from({length: n + 1}, (_, i) => {
                const x = [node(i), node(j)];
                return model.probability ? model.probability(x) : model.activation(x);
            }));
            const shade = new ImageData(n + 1, n + 1);
            const [zero, one] = [colour.zero, colour.one].map(text => text.match(/\w\w/g).map(hex => parseInt(hex, 16)));
            values.forEach((line, j) => line.forEach((value, i) => {
                const lean = model.probability ? 2 * value - 1 : 0.5 * Math.sign(value);
                shade.data.set([...(lean > 0 ? one : zero), 128 * Math.abs(lean)], 4 * ((n - j) * (n + 1) + i));
            }));
            const small = element("canvas", {width: n + 1, height: n + 1});
            small.getContext("2d").putImageData(shade, 0, 0);
            const cell = size / n;                      // nodes are at the centres of the pixels of `small`
            pen.drawImage(small, -cell / 2, -cell / 2, size + cell, size + cell);
            const previous = model.steps && model.step > 0 && model.steps[model.step - 1].weights;
            if (previous) this.drawPlane(pen, colour, ratio, toPixel, previous);
            pen.strokeStyle = colour.ink;
            const levels = model.probability ? [[0.1, 0.8], [0.5, 2.5], [0.9, 0.8]] : [[0, 2.5]];
            for (const [level, width] of levels) {
                pen.lineWidth = width * ratio;
                pen.beginPath();
                for (const [from, to] of contour(values, level)) {
                    pen.moveTo(...toPixel(from.map(node)));
                    pen.lineTo(...toPixel(to.map(node)));
                }
                pen.stroke();
            }
        }

        /** The boundary before the last step. */
        drawPlane(pen, colour, ratio, toPixel, [w0, w1, w2]) {
            const square = w1 * w1 + w2 * w2;
            if (!square) return;
            const foot = [-w0 * w1 / square, -w0 * w2 / square], length = 20 * REACH / Math.sqrt(square);
            if (Math.hypot(...foot) > 3 * REACH) return;
            pen.save();
            pen.setLineDash([6 * ratio, 5 * ratio]);
            pen.strokeStyle = colour.muted;
            pen.lineWidth = 1.5 * ratio;
            pen.beginPath();
            pen.moveTo(...toPixel([foot[0] - length * w2, foot[1] + length * w1]));
            pen.lineTo(...toPixel([foot[0] + length * w2, foot[1] - length * w1]));
            pen.stroke();
            pen.restore();
        }

        drawAxes(pen, colour, size, ratio, toPixel) {
            pen.fillStyle = colour.muted;
            pen.font = `${12 * ratio}px system-ui, sans-serif`;
            pen.textAlign = "center";
            for (let value = -REACH + 1; value < REACH; value++) {
                const [across] = toPixel([value, 0]), [, up] = toPixel([0, value]);
                pen.fillText(number(value, 0), across, size - 5 * ratio);
                pen.fillText(number(value, 0), 11 * ratio, up + 4 * ratio);
            }
            pen.fillText("x₁", size - 12 * ratio, size - 5 * ratio);
            pen.fillText("x₂", 11 * ratio, 14 * ratio);
        }

        /** Circles are class 0, squares class 1. A row on the wrong side has a cross. */
        drawRows(pen, colour, ratio, toPixel) {
            const {model, state} = this, corrected = model && state.model === "perceptron" ? model.steps[model.step].row : null;
            state.rows.forEach((row, n) => {
                const [across, down] = toPixel(row.x), radius = 6 * ratio;
                pen.beginPath();
                if (row.t) pen.rect(across - 0.9 * radius, down - 0.9 * radius, 1.8 * radius, 1.8 * radius);
                else pen.arc(across, down, radius, 0, 2 * Math.PI);
                pen.fillStyle = row.t ? colour.one : colour.zero;
                pen.strokeStyle = row.t ? colour["one-rim"] : colour["zero-rim"];
                pen.lineWidth = 1.5 * ratio;
                pen.fill();
                pen.stroke();
                pen.strokeStyle = colour.ink;
                if (model && (2 * row.t - 1) * model.activation(row.x) <= 0) {
                    const arm = 0.6 * radius;
                    pen.beginPath();
                    pen.moveTo(across - arm, down - arm);
                    pen.lineTo(across + arm, down + arm);
                    pen.moveTo(across - arm, down + arm);
                    pen.lineTo(across + arm, down - arm);
                    pen.stroke();
                }
                if (n === corrected || n === this.selected) {
                    pen.save();
                    if (n !== this.selected) pen.setLineDash([4 * ratio, 3 * ratio]);
                    pen.lineWidth = 2 * ratio;
                    pen.beginPath();
                    pen.arc(across, down, 2 * radius, 0, 2 * Math.PI);
                    pen.stroke();
                    pen.restore();
                }
            });
        }

        // -- The evidence for each width and scale --

        scheduleSurface() {
            clearTimeout(this.surfaceTimer);
            if (!MODELS[this.state.model].isBayesian || !this.shown.includes("surface")) return;
            const {basis, rows} = this.state, widths = basis === "rbf" ? WIDTHS : [1];
            const key = JSON.stringify([basis, rows]);
            if (key === this.surfaceKey) return this.drawSurface();
            const cells = widths.flatMap(width => SCALES.map(scale => ({width, scale}))), evidences = [];
            const nextCells = () => {                   // a few at a time, so that the page responds in between
                const pause = performance.now() + WORK_MS;
                try {
                    while (evidences.length < cells.length && performance.now() < pause) {
                        const {width, scale} = cells[evidences.length];
                        evidences.push(engine.evidenceSurface(rows, basis, [width], [scale])[0][0]);
                    }
                } catch (error) { return; }             // the fit has shown the problem
                if (evidences.length < cells.length) { this.surfaceTimer = setTimeout(nextCells); return; }
                const best = cells[evidences.indexOf(Math.max(...evidences))];
                this.best = basis === "rbf" ? best : {scale: best.scale};
                this.surface = widths.map((_, i) => evidences.slice(i * SCALES.length, (i + 1) * SCALES.length));
                this.surfaceKey = key;
                this.drawSurface();
            };
            this.surfaceTimer = setTimeout(nextCells, SETTLED_MS);
        }

        drawSurface() {
            const {surface, surfaceCanvas: canvas, state, best} = this, ratio = devicePixelRatio || 1, isGrid = surface.length > 1;
            canvas.width = Math.round(canvas.clientWidth * ratio);
            canvas.height = Math.round(canvas.width * (isGrid ? 0.75 : 0.15));
            const pen = canvas.getContext("2d"), colour = this.colours();
            const across = canvas.width / SCALES.length, down = canvas.height / surface.length, highest = Math.max(...surface.flat());
            const middle = (values, value) => values.length * Math.log(value / values[0]) / Math.log(values[values.length - 1] / values[0])
                * (values.length - 1) / values.length + 0.5;
            const spot = ({scale, width}) => [across * middle(SCALES, scale),
                canvas.height - down * (isGrid ? middle(WIDTHS, width) : 0.5)];
            pen.fillStyle = colour.ground;
            pen.fillRect(0, 0, canvas.width, canvas.height);
            surface.forEach((line, i) => line.forEach((evidence, j) => {
                pen.globalAlpha = Math.max(0.04, 1 - (highest - evidence) / SHOWN_NATS) ** 2;
                pen.fillStyle = colour.best;
                const [left, right] = [j, j + 1].map(k => Math.round(k * across));
                const [bottom, top] = [i, i + 1].map(k => canvas.height - Math.round(k * down));
                pen.fillRect(left, top, right - left, bottom - top);
            }));
            pen.globalAlpha = 1;
            const [bestX, bestY] = spot(best), [x, y] = spot(state);
            pen.fillStyle = pen.strokeStyle = colour.ink;
            pen.font = `${16 * ratio}px system-ui, sans-serif`;
            pen.textAlign = "center";
            pen.fillText("★", bestX, bestY + 6 * ratio);
            pen.lineWidth = 2 * ratio;
            pen.beginPath();
            pen.arc(x, y, 9 * ratio, 0, 2 * Math.PI);
            pen.stroke();
            this.surfaceCaption.textContent = "Log evidence for each prior scale (to the right)" + (isGrid ? " and width (up)" : "") +
                `. The largest is ${number(highest)} (★); the circle is this model.`;
            canvas.setAttribute("aria-label", this.surfaceCaption.textContent);
        }

        pickEvidence(event) {
            if (!this.surface) return;
            const box = this.surfaceCanvas.getBoundingClientRect();
            const cell = (fraction, n) => Math.min(n - 1, Math.max(0, Math.floor(fraction * n)));
            const scale = SCALES[cell((event.clientX - box.left) / box.width, SCALES.length)];
            const width = WIDTHS[cell(1 - (event.clientY - box.top) / box.height, WIDTHS.length)];
            this.change(this.surface.length > 1 ? {scale, width} : {scale});
        }
    }

    /** Marching squares: the segments, in units of nodes, along which linear interpolation equals the level. */
    function contour(values, level) {
        const segments = [], n = values.length - 1;
        for (let j = 0; j < n; j++) for (let i = 0; i < n; i++) {
            const corners = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]];
            const ends = [];
            corners.forEach(([a, b], k) => {
                const [c, d] = corners[(k + 1) % 4];
                const here = values[b][a] - level, there = values[d][c] - level;
                if ((here < 0) !== (there < 0)) {
                    const part = here / (here - there);
                    ends.push([a + part * (c - a), b + part * (d - b)]);
                }
            });
            for (let k = 0; k + 1 < ends.length; k += 2) segments.push([ends[k], ends[k + 1]]);
        }
        return segments;
    }

    const start = () => document.querySelectorAll("div.play").forEach(root => { root.playground = new Playground(root); });
    if (document.readyState === "loading") addEventListener("DOMContentLoaded", start);
    else start();
})();
