// SPDX-License-Identifier: BSD-3-Clause
/* The models of the playground, as pure functions of rows.

   A row is {x: [x1, x2], t: 0 or 1}. A fitted model has at least `activation(x)`, whose sign is the predicted class;
   models of probabilities also have `probability(x)`. Numbers in brackets are equations of Bishop, PRML. */
"use strict";

const engine = (() => {
    // ---- Linear algebra on arrays of arrays ----

    const dot = (a, b) => a.reduce((sum, a_i, i) => sum + a_i * b[i], 0);
    const add = (a, b, factor = 1) => a.map((a_i, i) => a_i + factor * b[i]);
    const times = (A, b) => A.map(row => dot(row, b));
    const identity = n => zeros(n).map((row, i) => row.map((_, j) => +(i === j)));
    const zeros = n => Array.from({length: n}, () => new Array(n).fill(0));
    const mean = vectors => vectors.reduce((sum, v) => add(sum, v)).map(total => total / vectors.length);

    /** sum_n weight_n v_n v_n' */
    function scatter(vectors, weights = vectors.map(() => 1)) {
        const S = zeros(vectors[0].length);
        vectors.forEach((v, n) => {
            for (let i = 0; i < v.length; i++) {
                const factor = weights[n] * v[i];
                for (let j = 0; j <= i; j++) S[i][j] += factor * v[j];
            }
        });
        for (let i = 0; i < S.length; i++) for (let j = 0; j < i; j++) S[j][i] = S[i][j];
        return S;
    }

    /** The lower triangle L with A = L L'. */
    function cholesky(A) {
        const L = zeros(A.length);
        for (let i = 0; i < A.length; i++) {
            for (let j = 0; j <= i; j++) {
                let rest = A[i][j];
                for (let k = 0; k < j; k++) rest -= L[i][k] * L[j][k];
                if (i === j && !(rest > 1e-12 * A[i][i])) throw new RangeError("The rows lie on a line.");
                L[i][j] = i === j ? Math.sqrt(rest) : rest / L[j][j];
            }
        }
        return L;
    }

    /** L^-1 b */
    function solveLower(L, b) {
        const z = b.slice();
        for (let i = 0; i < z.length; i++) {
            for (let k = 0; k < i; k++) z[i] -= L[i][k] * z[k];
            z[i] /= L[i][i];
        }
        return z;
    }

    /** (L L')^-1 b */
    function solve(L, b) {
        const z = solveLower(L, b);
        for (let i = z.length - 1; i >= 0; i--) {
            for (let k = i + 1; k < z.length; k++) z[i] -= L[k][i] * z[k];
            z[i] /= L[i][i];
        }
        return z;
    }

    const inverse = A => { const L = cholesky(A); return identity(A.length).map(e => solve(L, e)); };
    const logDeterminant = L => 2 * L.reduce((sum, row, i) => sum + Math.log(row[i]), 0);

    // ---- Functions of one number ----

    const sigmoid = a => a >= 0 ? 1 / (1 + Math.exp(-a)) : Math.exp(a) / (1 + Math.exp(a));            // (4.59)
    const logSigmoid = a => Math.min(a, 0) - Math.log1p(Math.exp(-Math.abs(a)));

    // ---- Bases: phi(x) with phi_0 = 1 ----

    const linear = () => x => [1, x[0], x[1]];

    /** A Gaussian of this width at each row. */
    function radial(rows, width) {
        const precision = 0.5 / width ** 2;
        return x => [1, ...rows.map(({x: c}) => Math.exp(-precision * ((x[0] - c[0]) ** 2 + (x[1] - c[1]) ** 2)))];
    }

    const basisOf = (rows, {basis, width}) => basis === "rbf" ? radial(rows, width) : linear();
    const sign = t => 2 * t - 1;
    const inputs = (rows, t) => rows.filter(row => row.t === t).map(row => row.x);

    // ---- Rules (4.1) ----

    const plane = w => ({weights: w, activation: x => w[0] + w[1] * x[0] + w[2] * x[1]});

    /** Regression on the targets +1 and -1: the normal equations (4.16). */
    function leastSquares(rows) {
        const Phi = rows.map(row => linear()(row.x));
        const Phi_t = Phi.map((phi, n) => phi.map(value => value * sign(rows[n].t))).reduce((sum, v) => add(sum, v));
        return plane(solve(cholesky(scatter(Phi)), Phi_t));
    }

    /** w = S_W^-1 (m1 - m0) (4.30), and the boundary through the mean of all rows (4.34). */
    function fisher(rows) {
        const m = [0, 1].map(t => mean(inputs(rows, t)));
        const S_W = scatter(rows.map(row => add(row.x, m[row.t], -1)));                                // (4.28)
        const w = solve(cholesky(S_W), add(m[1], m[0], -1));
        const between = dot(w, add(m[1], m[0], -1)) ** 2;
        return {...plane([-dot(w, mean(rows.map(row => row.x))), ...w]), criterion: between / dot(w, times(S_W, w))};  // (4.25)
    }

    /** All updates w <- w + t_n phi_n (4.55), row by row, until an epoch has no mistake or `limit` is reached. */
    function perceptron(rows, {step = Infinity, limit = 1000} = {}) {
        let w = [0, 0, 0];
        const updates = [];
        let mistakes = Infinity;
        while (mistakes && updates.length < limit) {
            mistakes = 0;
            rows.forEach(({x, t}, n) => {
                const phi = linear()(x);
                if (sign(t) * dot(w, phi) <= 0 && updates.length < limit) {
                    w = add(w, phi, sign(t));
                    updates.push({row: n, weights: w});
                    mistakes++;
                }
            });
        }
        const steps = [{row: null, weights: [0, 0, 0]}, ...updates];
        const k = Math.min(step, updates.length);
        const criterion = rows.reduce((sum, {x, t}) => sum + Math.max(0, -sign(t) * dot(steps[k].weights, linear()(x))), 0);
        return {...plane(steps[k].weights), steps, step: k, ended: mistakes === 0, criterion};         // (4.54)
    }

    // ---- Normal classes (4.2) ----

    /** Log-odds x'Cx + w'x + w0 of two normal classes with these covariances. */
    function normalClasses(rows, covariances) {
        const share = t => inputs(rows, t).length / rows.length;                                        // (4.73)
        const [zero, one] = [0, 1].map(t => {
            const mu = mean(inputs(rows, t)), P = inverse(covariances[t]);
            const constant = -0.5 * dot(mu, times(P, mu)) - 0.5 * logDeterminant(cholesky(covariances[t])) + Math.log(share(t));
            return {P, linear: times(P, mu), constant};
        });
        const C = zero.P.map((row, i) => row.map((value, j) => 0.5 * (value - one.P[i][j])));
        const w = [one.constant - zero.constant, ...add(one.linear, zero.linear, -1)];                  // (4.66), (4.67)
        const activation = x => dot(x, times(C, x)) + plane(w).activation(x);
        return {weights: w, quadratic: C, activation, probability: x => sigmoid(activation(x))};        // (4.57)
    }

    function covarianceOf(rows, t) {
        const x = inputs(rows, t), m = mean(x);
        return scatter(x.map(x_n => add(x_n, m, -1))).map(row => row.map(value => value / x.length));   // (4.79), (4.80)
    }

    const qda = rows => normalClasses(rows, [covarianceOf(rows, 0), covarianceOf(rows, 1)]);

    /** Both classes have the weighted mean of their covariances (4.78). */
    function lda(rows) {
        const S = [0, 1].map(t => covarianceOf(rows, t).map(row => row.map(v => v * inputs(rows, t).length / rows.length)));
        const shared = S[0].map((row, i) => add(row, S[1][i]));
        return normalClasses(rows, [shared, shared]);
    }

    // ---- Logistic regression (4.3) ----

    /** E(w) = -sum ln p(t_n | w) + precision w'w / 2, with its gradient and Hessian. */
    function objective(Phi, rows, w, precision) {
        const a = times(Phi, w), p = a.map(sigmoid);
        const fit = a.reduce((sum, a_n, n) => sum + logSigmoid(sign(rows[n].t) * a_n), 0);             // (4.90)
        let gradient = w.map(w_i => precision * w_i);
        Phi.forEach((phi, n) => { gradient = add(gradient, phi, p[n] - rows[n].t); });                  // (4.91)
        const H = () => {
            const H = scatter(Phi, p.map(p_n => p_n * (1 - p_n)));                                      // (4.97)
            H.forEach((row, i) => { row[i] += precision; });
            return H;
        };
        return {fit, value: 0.5 * precision * dot(w, w) - fit, gradient, hessian: H, activations: a};
    }

    /** Newton's steps (4.92) from w = 0; a step is halved until it lowers E. */
    function newton(Phi, rows, precision, maxSteps) {
        let w = Phi[0].map(() => 0), here = objective(Phi, rows, w, precision);
        const steps = [{weights: w, ...here}];
        while (steps.length <= maxSteps) {
            let move;
            try { move = solve(cholesky(here.hessian()), here.gradient); } catch (error) { break; }
            const slope = dot(move, here.gradient);                                                     // is zero at the mode
            let size = 1, next;
            for (; ; size /= 2) {
                next = objective(Phi, rows, add(w, move, -size), precision);
                if (next.value <= here.value - 0.1 * size * slope || slope < 1e-10 || size < 1e-6) break;
            }
            w = add(w, move, -size);
            here = next;
            steps.push({weights: w, ...here});
            if (slope < 1e-14) break;
        }
        return steps;
    }

    /** Maximum likelihood. If a step has all rows on their sides, the classes are separable: E has no minimum. */
    function logistic(rows, {step = Infinity} = {}) {
        const steps = newton(rows.map(row => linear()(row.x)), rows, 0, 25);
        const isSeparating = ({activations}) => activations.every((a, n) => sign(rows[n].t) * a > 0);
        const end = steps.findIndex(isSeparating);
        const k = Math.min(step, steps.length - 1);
        const rule = plane(steps[k].weights);
        return {...rule, probability: x => sigmoid(rule.activation(x)), steps, step: k, isSeparable: end >= 0, fit: steps[k].fit};
    }

    // ---- Bayesian logistic regression (4.5) ----

    /** The integral of sigma(a) N(a | mu, s^2) over a (4.151), by the trapezoid rule.

        Its error is about exp(-2 pi^2) times a small number if the nodes are 1/8 standard deviations apart, or 1/s if
        that is less. The 137 nodes of the first case reach to 8.5 standard deviations. */
    const nodesOf = n => Array.from({length: 17 * n + 1}, (_, k) => k / n - 8.5)
        .map(z => ({z, weight: Math.exp(-0.5 * z * z) / Math.sqrt(2 * Math.PI) / n}));
    const NODES = nodesOf(8);

    function average(mu, s) {
        const nodes = s <= 8 ? NODES : nodesOf(Math.ceil(s));
        return nodes.reduce((sum, {z, weight}) => sum + weight * sigmoid(mu + s * z), 0);
    }

    /** Laplace's approximation of the posterior under the prior N(0, scale^2 I), and the evidence. */
    function bayes(rows, {basis = "linear", width = 1, scale = 1, averaged = true} = {}) {
        const phi = basisOf(rows, {basis, width});
        const steps = newton(rows.map(row => phi(row.x)), rows, scale ** -2, 100);
        const {weights: w, fit, hessian} = steps[steps.length - 1];
        const L = cholesky(hessian());                                                                  // of S_N^-1 (4.143)
        const logPrior = -0.5 * dot(w, w) / scale ** 2 - w.length * Math.log(scale);                    // times (2 pi)^(-M/2)
        const occam = logPrior - 0.5 * logDeterminant(L);                                               // its (2 pi)^(M/2) cancels
        const activation = x => dot(w, phi(x));                                                         // (4.149)
        const deviation = x => { const z = solveLower(L, phi(x)); return Math.sqrt(dot(z, z)); };       // (4.150)
        const probability = x => averaged ? average(activation(x), deviation(x)) : sigmoid(activation(x));
        return {weights: w, activation, deviation, probability, fit, occam, evidence: fit + occam};     // (4.137)
    }

    /** Log evidence of each width and scale: surface[i][j] belongs to widths[i] and scales[j]. */
    const evidenceSurface = (rows, basis, widths, scales) =>
        widths.map(width => scales.map(scale => bayes(rows, {basis, width, scale}).evidence));

    // ---- Any model by its name, and how good it is on its rows ----

    const models = {leastSquares, fisher, perceptron, lda, qda, logistic, bayes};

    function fit(name, rows, options = {}) {
        if (new Set(rows.map(row => row.t)).size < 2) throw new RangeError("A fit needs rows of both classes.");
        const model = models[name](rows, options);
        const isCorrect = ({x, t}) => sign(t) * model.activation(x) > 0;
        const logLikelihood = model.probability &&
            rows.reduce((sum, {x, t}) => sum + Math.log(t ? model.probability(x) : 1 - model.probability(x)), 0);
        return {...model, correct: rows.filter(isCorrect).length, logLikelihood};
    }

    return {fit, evidenceSurface, average, sigmoid};
})();
