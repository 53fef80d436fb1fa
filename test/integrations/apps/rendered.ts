import { createElement } from 'react';
import { renderToString as renderReact } from 'react-dom/server';
import type { Database } from 'settee/database';
import * as forReact from 'settee/react';
import * as forSolid from 'settee/solid';
import * as forVue from 'settee/vue';
import { renderToString as renderSolid } from 'solid-js/web';
import { render as renderSvelte } from 'svelte/server';
import { createSSRApp } from 'vue';
import { renderToString as renderVue } from 'vue/server-renderer';
import Rendered from './Rendered.svelte';

type Notes = Database<{ text: string }>;

/** What each framework makes of the same component on a server. */
export const renderers: Readonly<Record<string, (notes: Notes) => string | Promise<string>>> = {
  react: (notes) => {
    const Shown = () => {
      const { status, documents } = forReact.useQuery(notes, { selector: {} });
      const first = forReact.useDocument(notes, 'a');
      forReact.useSync(undefined);
      return `${status} ${documents.length} ${first.status}`;
    };
    return renderReact(createElement(Shown));
  },
  vue: (notes) =>
    renderVue(
      createSSRApp({
        setup: () => {
          const shown = forVue.useQuery(notes, { selector: {} });
          const first = forVue.useDocument(notes, 'a');
          forVue.useSync(undefined);
          return () => `${shown.value.status} ${shown.value.documents.length} ${first.value.status}`;
        },
      }),
    ),
  svelte: (notes) => renderSvelte(Rendered, { props: { notes } }).body,
  solid: (notes) =>
    renderSolid(() => {
      const shown = forSolid.useQuery(notes, () => ({ selector: {} }));
      const first = forSolid.useDocument(notes, 'a');
      forSolid.useSync(undefined);
      return `${shown().status} ${shown().documents.length} ${first().status}`;
    }),
};
