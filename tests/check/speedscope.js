// SPDX-License-Identifier: GPL-2.0-or-later
// speedscope.js DIR FILE...: loads each file with the speedscope that npm installed below DIR,
// in a page without a screen, and says what it made of it.
const fs = require('fs');
const path = require('path');
const modules = path.resolve(process.argv[2], 'node_modules');
const { JSDOM, VirtualConsole } = require(path.join(modules, 'jsdom'));
const release = path.join(modules, 'speedscope/dist/release');
const source = fs.readFileSync(
	path.join(release, fs.readdirSync(release).find((f) => /^speedscope.*\.js$/.test(f))), 'utf8');

process.on('uncaughtException', () => {}); // it misses WebGL, which it needs for drawing only

function load(file) {
	return new Promise((resolve) => {
		const said = [];
		const dom = new JSDOM('<!doctype html><body></body>', {
			runScripts: 'outside-only', pretendToBeVisual: true, virtualConsole: new VirtualConsole(),
			url: 'http://localhost/#localProfilePath=/none.js',
		});
		const w = dom.window;
		const listen = (text) => said.push(String(text));
		w.HTMLCanvasElement.prototype.getContext = () => null;
		w.matchMedia = () => ({ matches: false, addListener() {}, addEventListener() {} });
		Object.assign(w, { TextDecoder, TextEncoder, alert: listen });
		Object.assign(w.console, { log: listen, warn: listen, error: listen });
		w.eval(source);
		let waited = 0, begun = false;
		const timer = setInterval(() => {
			if (!begun && w.speedscope) {
				begun = true;
				w.speedscope.loadFileFromBase64(path.basename(file),
					fs.readFileSync(file).toString('base64'));
			}
			const good = w.document.title === path.basename(file) + ' - speedscope';
			const bad = said.some((s) => /Unrecognized format|Failed to load/.test(s));
			if (!good && !bad && (waited += 100) < 60000)
				return;
			clearInterval(timer);
			resolve({ good, odd: said.filter((s) => /Doing nothing|still open/.test(s)) });
		}, 100);
	});
}

(async () => {
	let failed = 0;
	for (const file of process.argv.slice(3)) {
		const { good, odd } = await load(file);
		const name = path.basename(file);
		if (good && !odd.length) {
			console.log(`ok speedscope reads ${name}`);
		} else {
			failed = 1;
			console.log(`not ok speedscope reads ${name}: ${odd[0] || 'it refuses the file'}`);
		}
	}
	process.exit(failed);
})();
