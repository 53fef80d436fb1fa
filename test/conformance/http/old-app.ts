import { assert } from 'chai';
import { assertError } from '../../support/conformance/answer.ts';
import { arrayAt, at } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';

/** A template engine as such apps bring it: a module of 2010, with an instance for each rendering. */
const templates = `
var Templates = function () {
  var Renderer = function () {};
  Renderer.prototype = {
    render: function (text, context) {
      var that = this;
      text = text.replace(/\\{\\{#(\\w+)\\}\\}([\\s\\S]*?)\\{\\{\\/\\1\\}\\}/g, function (all, name, inner) {
        return isArray(context[name]) ? context[name].map(function (item) { return that.render(inner, item); }).join("") : "";
      });
      return text.replace(/\\{\\{(\\w+)\\}\\}/g, function (all, name) { return String(context[name]).replace(/</g, "&lt;"); });
    }
  };
  return { to_html: function (text, context) { return new Renderer().render(text, context); } };
}();
exports.to_html = function () { return Templates.to_html.apply(this, arguments); };`;

/** One that looks for the module system it is in. */
const shouting = `(function (root, factory) {
  if (typeof define === "function" && define.amd) define([], factory);
  else if (typeof exports === "object") module.exports = factory(require("./words"));
  else root.shouting = factory();
}(this, function (words) { return function (text) { return text.toUpperCase() + words.end; }; }));`;

const validate = `exports.init = function (newDoc, oldDoc, userCtx, secObj) {
  var v = {};
  v.forbidden = function (message) { throw({ forbidden : message }); };
  v.require = function () {
    for (var i = 0; i < arguments.length; i++) if (!newDoc[arguments[i]]) v.forbidden("The '" + arguments[i] + "' field is required.");
  };
  v.unchanged = function (field) {
    if (oldDoc && toJSON(oldDoc[field]) != toJSON(newDoc[field])) v.forbidden("You may not change the '" + field + "' field.");
  };
  return v;
};`;

const app = {
  language: 'javascript',
  couchapp: { name: 'blog', manifest: ['views/'] },
  templates: { index: '<h1>{{title}}</h1>{{#posts}}<li>{{name}}</li>{{/posts}}', edit: '<form>{{title}}</form>' },
  lib: { shouting, words: 'exports.end = "!";' },
  vendor: { couchapp: { lib: { templates, validate } } },
  views: {
    lib: {
      dates: 'exports.parts = function (text) { var d = new Date(text); return [d.getFullYear(), d.getMonth() + 1]; };',
      deep: { er: 'exports.parts = require("../dates").parts;' },
    },
    posts: {
      map: 'function(doc) { if (doc.type == "post") { emit(require("views/lib/deep/er").parts(doc.created_at), doc.title); } };',
      reduce: '_count',
    },
    tags: { map: '// by tag\nfunction tags(doc) {\n  for (i in doc.tags) emit(doc.tags[i], 1);\n}\n' },
  },
  shows: {
    edit: `function(doc, req) {
      var ddoc = this; var Templates = require("vendor/couchapp/lib/templates");
      return Templates.to_html(ddoc.templates.edit, { title: doc ? doc.title : "New <post>" });
    }; // trailing`,
    shout: 'function(doc, req) { return require("lib/shouting")(doc.title); }',
    moved: 'function(doc, req) { return {code : 203, body : "here", headers : {"X-Where" : req.path.join("/")}}; }',
  },
  lists: {
    index: `function(head, req) {
      var ddoc = this, Templates = require("vendor/couchapp/lib/templates");
      var List = { withRows: function (make) { var row, made = []; while (row = getRow()) made.push(make(row)); return made; } };
      provides("html", function () {
        var posts = List.withRows(function (row) { return { name: row.value }; });
        return Templates.to_html(ddoc.templates.index, { title: "Blog", posts: posts });
      });
      provides("atom", function () {
        var row = getRow();
        start({"headers": {"Content-Type": "application/atom+xml; charset=utf-8"}});
        send("<feed>");
        if (row) { do { send("<entry>" + row.id + "</entry>"); } while (row = getRow()); }
        return "</feed>";
      });
    }`,
    implicit: `function(head, req) {
      start({"headers": {"Content-type": "text/html"}});
      send("<ul>"); while (row = getRow()) { send("<li>" + row.id + "</li>"); } send("</ul>");
    }`,
    csv: `function(head, req) {
      var first = true;
      while (r = getRow()) {
        if (first) { start({headers: {"Content-Type": "text/csv"}}); send("id,key\\n"); first = false; }
        send([r.id, r.key].join(",") + "\\n");
      }
    }`,
  },
  updates: {
    bump: `function(doc, req) {
      if (!doc) { if (req.id) return [{_id: req.id, count: 1}, "New " + req.id]; return [null, "Empty"]; }
      doc.count = (doc.count || 0) + 1;
      return [doc, "<h1>bumped it!</h1>"];
    }`,
  },
  filters: { type: 'function(doc, req) { return doc.type == req.query.type; }' },
  rewrites: [
    { from: '', to: '_list/index/posts', query: { reduce: 'false' } },
    { from: '/post/:id', to: '_show/edit/:id' },
    { from: 'tag/:tag', to: '_list/implicit/tags', query: { key: ':tag' } },
    { from: '/style/*', to: 'style/*' },
    { from: '/api/*', to: '../../*' },
  ],
  validate_doc_update: `function (newDoc, oldDoc, userCtx, secObj) {
    var v = require("vendor/couchapp/lib/validate").init(newDoc, oldDoc, userCtx, secObj);
    if (newDoc._deleted) return;
    if (newDoc.type == "post") { v.require("title"); v.unchanged("created_at"); }
  }`,
  _attachments: { 'style/main.css': { content_type: 'text/css', data: btoa('b{}') } },
};

async function fill(t: Toolkit): Promise<void> {
  await t.put('_design/blog', app);
  await t.put('first', { type: 'post', title: 'A <B>', created_at: '2010/06/25 04:35:12 +0000', tags: ['x', 'y'] });
  await t.put('second', { type: 'post', title: 'Second', created_at: '2010-12-31T23:30:00Z', tags: ['x'] });
}

/** An app that lives in a design document, as they were written around 2010, with all that it may have. */
export default suite('old_app', [
  test('its views with modules and its validation with a library work', async (t) => {
    await fill(t);
    assert.deepEqual(
      arrayAt((await t.get('/_design/blog/_view/posts?group=true')).json, 'rows').map((row) => at(row, 'key')),
      [
        [2010, 6],
        [2010, 12],
      ],
    );
    assert.lengthOf(arrayAt((await t.get('/_design/blog/_view/tags')).json, 'rows'), 3);
    assert.lengthOf(arrayAt((await t.get('/_changes?filter=blog/type&type=post')).json, 'results'), 2);
    assertError(
      await t.at('PUT', '/third', { json: { type: 'post' } }),
      403,
      'forbidden',
      "The 'title' field is required.",
    );
  }),

  test('its show functions render documents with templates', async (t) => {
    await fill(t);
    const shown = async (path: string) => (await t.get(`/_design/blog/_show/${path}`)).text;
    assert.equal(await shown('edit/first'), '<form>A &lt;B></form>');
    assert.equal(await shown('edit'), '<form>New &lt;post></form>');
    assert.equal(await shown('shout/second'), 'SECOND!');
    assert.equal((await t.get('/_design/blog/_show/moved')).header('x-where'), `${t.db}/_design/blog/_show/moved`);
  }),

  test('its list functions return rows in the format that the client accepts', async (t) => {
    await fill(t);
    const list = (path: string, accept = '*/*') => t.get(`/_design/blog/_list/${path}`, { accept });
    const html = await list('index/posts?reduce=false', 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8');
    assert.deepEqual(
      [html.text, html.header('content-type')],
      ['<h1>Blog</h1><li>A &lt;B></li><li>Second</li>', 'text/html; charset=utf-8'],
    );
    const atom = await list('index/posts?reduce=false&format=atom');
    assert.deepEqual(
      [atom.text, atom.header('content-type')],
      ['<feed><entry>first</entry><entry>second</entry></feed>', 'application/atom+xml; charset=utf-8'],
    );
    const csv = await list('csv/tags');
    assert.deepEqual([csv.text, csv.header('content-type')], ['id,key\nfirst,x\nsecond,x\nfirst,y\n', 'text/csv']);
    assert.equal((await list('csv/tags?key="z"')).text, '');
  }),

  test('its update functions change documents, and its rewrites have their own address', async (t) => {
    await fill(t);
    const update = async (path: string) => (await t.at('PUT', `/_design/blog/_update/bump${path}`)).text;
    assert.deepEqual(
      [await update('/first'), await update('/new'), await update('')],
      ['<h1>bumped it!</h1>', 'New new', 'Empty'],
    );
    assert.equal(at((await t.get('/first')).json, 'count'), 1);
    const at2010 = async (path: string) =>
      (await t.get(`/_design/blog/_rewrite/${path}`, { accept: 'text/html, */*;q=0.1' })).text;
    assert.equal(await at2010(''), '<h1>Blog</h1><li>A &lt;B></li><li>Second</li>');
    assert.equal(await at2010('post/second'), '<form>Second</form>');
    assert.equal(await at2010('tag/y'), '<ul><li>first</li></ul>');
    assert.equal(await at2010('style/main.css'), 'b{}');
    assert.equal(at(JSON.parse(await at2010('api/second')), 'title'), 'Second');
  }),
]);
