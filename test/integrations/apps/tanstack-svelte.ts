import { mount } from 'svelte';
import TanstackNotes from './TanstackNotes.svelte';

mount(TanstackNotes, { target: document.getElementById('app') as HTMLElement });
