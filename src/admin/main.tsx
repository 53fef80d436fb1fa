import { render } from 'preact';
import { App } from './app.tsx';
import './styles/base.css';
import './styles/controls.css';
import './styles/layout.css';
import './styles/parts.css';

// Where servers of the family send those who have to log in first.
if (location.pathname.endsWith('/session.html') && location.hash === '') location.hash = '#/login';

const root = document.getElementById('app');
if (root !== null) render(<App />, root);
