import { render } from 'preact';
import { App } from './app.tsx';
import './styles/base.css';
import './styles/controls.css';
import './styles/layout.css';
import './styles/parts.css';

const root = document.getElementById('app');
if (root !== null) render(<App />, root);
