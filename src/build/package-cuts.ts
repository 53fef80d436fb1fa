/**
 * What the build leaves out of packages that browsers load. Each cut goes from one text up to another; where a package has changed, and has
 * one of them no more, the build fails and says so.
 */

/** Takes out what begins with the first text, up to the second; the third, if there is one, takes its place. */
type Cut = readonly [from: string, to: string, instead?: string];

function cutOut(code: string, [from, to, instead = '']: Cut): string {
  const start = code.indexOf(from);
  const end = code.indexOf(to, start);
  if (start < 0 || end < 0)
    throw new Error(`A package has changed, and has no more ${from} … ${to}: see src/build/package-cuts.ts`);
  return code.slice(0, start) + instead + code.slice(end);
}

/**
 * What a page does not need of Comlink, each from one text up to another: it calls functions of its worker and keeps the proxy that it has, so
 * it passes and releases none, sends no errors, and neither gets, sets, binds nor constructs. What nothing refers to then is left out of the page.
 */
const comlinkCuts: readonly Cut[] = [
  ['    ["proxy", proxyTransferHandler],', '    ["throw",'],
  ['"FinalizationRegistry" in globalThis &&', 'new FinalizationRegistry('],
  ['        set(_target, prop, rawValue) {', '        apply(_target,'],
  ['    canHandle: (value) => isObject(value) && throwMarker in value,', '    deserialize(serialized) {'],
  ['    for (const [name, handler] of transferHandlers) {', '    return [\n        {\n            type: "RAW"'],
  ['    registerProxy(proxy, ep);', '    return proxy;'],
  ['            throwIfProxyReleased(isProxyReleased);', '            if (prop === "then") {'],
  ['            if (prop === "then") {', '            return createProxy(ep, pendingListeners, [...path'],
  ['        transferCache.get(value) ||', ' [],\n'],
  [', myFlat(processed.map(', '];\n}\nconst transferCache'],
  ['        if (ep.start) {', '        ep.postMessage(Object.assign({ id }'],
  ['new Array(4)', 'Math.floor('],
  [')\n        .join("-")', ';\n}\n\nexport'],
  ['            throwIfProxyReleased(isProxyReleased);', '            const [argumentList, transferables] ='],
  ['        construct(_target, rawArgumentList) {', '    });\n    return proxy;'],
  // What goes are plain values; what comes back are such as well, or errors.
  [
    '            const [argumentList, transferables] =',
    '            return requestResponseMessage',
    '            const argumentList = rawArgumentList.map((value) => ({ type: "RAW", value }));\n',
  ],
  [', transferables).then(', '.then(', ')'],
  ['msg), transfers)', ';', 'msg))'],
  // Nor does what takes an answer fail.
  [
    '        try {\n            resolver(data)',
    '    });\n    return createProxy',
    '        resolver(data);\n        pendingListeners.delete(data.id);\n',
  ],
  [
    '    switch (value.type) {\n',
    '}\nfunction requestResponseMessage(',
    '    return value.type === "RAW" ? value.value : throwTransferHandler.deserialize(value.value);\n',
  ],
];

/** Of the ways to send values the one that a worker has any use for. */
const ONLY_THROWN = `    const handler = throwTransferHandler;
    if (handler.canHandle(value)) {
`;

/** What a worker does not need of Comlink: it is called, and gives nothing that could be called in turn. */
const exposeCuts: readonly Cut[] = [
  ['    ["proxy", proxyTransferHandler],', '    ["throw",'],
  ['                case "GET" /*', '                case "APPLY" /*'],
  ['                case "CONSTRUCT" /*', '                default:'],
  ['            if (type === "RELEASE" /*', '        })\n            .catch((error) => {'],
  ['const proxyFinalizers =', 'function registerProxy('],
  // Whoever has a dedicated worker's port is its page.
  ['        if (!isAllowedOrigin(', '        const { id, type, path }'],
  // What comes are plain values; what goes back are such as well, or errors.
  ['    switch (value.type) {\n', '}\nfunction requestResponseMessage(', '    return value.value;\n'],
  ['    for (const [name, handler] of transferHandlers) {', '            const [serializedValue,', ONLY_THROWN],
  ['                    name,\n', '                    value: serializedValue', '                    name: "throw",\n'],
  [
    '                transferables,\n            ];\n        }',
    '    }\n    return [',
    '                transferables,\n            ];\n',
  ],
  ['        transferCache.get(value) ||', ' [],\n'],
];

/** Of Workbox a page registers, and hears of a version that waits; the rest it asks of the registration itself. */
const workboxCuts: readonly Cut[] = [
  ['try{self["workbox:window', 'function t(t,s)'],
  ['try{self["workbox:core', 'class s{'],
  ['removeEventListener(t,s){', 'dispatchEvent(t){'],
  ['const n={type:"SKIP_WAITING"}', 'class a extends'],
  [',this.Vt=t=>{', ',this.Ot=t,'],
  [',navigator.serviceWorker.addEventListener("message"', '}async register('],
  ['t||"complete"===document.readyState', 'this.Yt=this.Zt()'],
  ['navigator.serviceWorker.addEventListener("controllerchange"', 'this.Nt}async update('],
  ['async update(){', 'Zt(){'],
  // Nobody waits for its promises or looks into its events, and all versions are told of alike, whoever they come from.
  ['class s{', 'class i{'],
  ['this._t={},', 'this.Kt='],
  ['this.Lt>0||', 's.addEventListener("statechange"'],
  [',n=i===this.zt,', ';!n&&'],
  ['!n&&this.Jt', '"installed"===e?'],
  [',a))}),200', '))}),200'],
  [',n||this.Tt.resolve(i)', ')},'],
  [',this._t=i', '}async register('],
  ['{immediate:t=!1}', '){this.Yt='],
  ['this.Ft=this.Yt,', 'this.Yt.addEventListener('],
  ['(this.Ft=s,Promise', 'Promise.resolve().then('],
  [',{sw:s,was', '))})).then('],
  ['.then((()=>{}))', ',this.Ft&&'],
  [',this.Ft&&(this.Ct', ',this.Nt.addEventListener('],
  [',this._t)', ');return'],
  ['this.Mt=performance', 't}catch'],
  ['try{const t=await', 'const t=await'],
  ['}catch(t){throw t}', '}}export'],
  [',Object.assign(this', '}}class a extends'],
  ['t.target=this;', 'const s=this.Wt('],
  // Both addresses are absolute.
  ['const{href:i}=location;', '}class h{', 'return t===s'],
];

/** Of idb what is for cursors and indexes, the databases' shorthand methods, setting properties, and taking listeners away. */
const idbCuts: readonly Cut[] = [
  ['const readMethods = ', 'export {'],
  ['    if (getCursorAdvanceMethods()', '    return function (...args) {\n        // Calling'],
  ['            IDBIndex,\n', '            IDBObjectStore'],
  ['            IDBCursor,\n', '            IDBDatabase'],
  ['    set(target, prop, value) {', '};\nfunction replaceTraps('],
  ['        const unlisten = () => {', '        const success ='],
  ['        const unlisten = () => {', '        const complete ='],
  ...Array.from({ length: 4 }, (): Cut => ['            unlisten();\n', '        };']),
];

/**
 * Of hash-wasm what a browser that can run it has no need of: other runtimes' ways, other digests' rules, and a hasher's state stored and
 * loaded. Nothing waits in line either: at worst two who come first make two engines.
 */
const hashCuts: readonly Cut[] = [
  ['class Mutex {', 'function intArrayToString('],
  // What is hashed are bytes.
  ['const getUInt8Buffer = nodeBuffer', 'function encodeBase64(', 'const getUInt8Buffer = (bytes) => bytes;\n'],
  [
    '    const bufferLength = getDecode',
    '}\n\nconst MAX_HEAP',
    '    return Uint8Array.from(atob(data), (char) => char.charCodeAt(0));\n',
  ],
  ['        if (typeof WebAssembly ===', '        const writeMemory ='],
  ['        const writeMemory =', '        const getStateSize ='],
  ['wasmMutex.dispatch(', '() => __awaiter(', '('],
  ['        }));\n        const setupInterface', '\n        const setupInterface', '        }))();'],
  ['            if (!initialized) {\n                throw new Error("update()', '            const Uint8Buffer'],
  ['            if (!initialized) {\n                throw new Error("digest()', '            initialized = false;'],
  ['        const save = () => {', '        const isDataShort ='],
  ['        switch (binary.name) {', '        yield setupInterface'],
  ['            getMemory,', '            init,'],
  ['            save,\n', '            hashLength,'],
  ['    function adopt(value) {', '}\n', '    return generator();\n'],
];

/** Of Comlink, for a page, which calls. */
export function trimComlinkOfPage(code: string): string {
  return comlinkCuts.reduce(cutOut, code).replace('new FinalizationRegistry(', 'false && (');
}

/** Of Comlink, for a worker, which is called. */
export function trimComlinkOfWorker(code: string): string {
  return exposeCuts.reduce(cutOut, code);
}

export function trimWorkbox(code: string): string {
  return workboxCuts.reduce(cutOut, code);
}

export function trimIdb(code: string): string {
  return idbCuts.reduce(cutOut, code);
}

/** It makes a mutex for each of its digests, and no cut left one in use. Browsers that can run it can wait by themselves. */
export function trimHashWasm(code: string): string {
  return (
    hashCuts
      .reduce(cutOut, code)
      .replaceAll('new Mutex()', 'null')
      // Of a hasher only `init`, `update` and `digest` are called.
      .replaceAll(/save: \(\) => wasm\.save\(\),\s*load: [^}]*\},\s*blockSize: \d+,\s*digestSize: \d+,/g, '')
      .replaceAll('function* () {', 'async () => {')
      .replaceAll('yield ', 'await ')
  );
}
