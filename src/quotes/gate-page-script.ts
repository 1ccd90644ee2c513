/**
 * The page's only script. What came from elsewhere becomes text and never markup. It holds one row for each symbol that
 * is shown and changes only what has changed. A page that hears nothing says so: old figures look like fresh ones.
 */
export const PAGE_SCRIPT = `
'use strict';
(() => {
  const OLD_AFTER_MS = 3000;
  const TRY_AGAIN_MS = 5000;
  const TYPING_MS = 300;
  const byId = (id) => document.getElementById(id);
  const form = byId('view');
  const rows = new Map();
  const view = { filter: '', after: '', limit: '' };
  let stream;
  let heardAt = 0;
  let next = null;
  let again;

  const setText = (element, text) => {
    if (element.textContent !== text) element.textContent = text;
  };
  const make = (tag, attributes, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };
  const span = (ms) => {
    if (ms === null) return '–';
    if (Math.abs(ms) < 1000) return ms + ' ms';
    const seconds = Math.abs(ms) / 1000;
    const sign = ms < 0 ? '−' : '';
    if (seconds < 120) return sign + seconds.toFixed(1) + ' s';
    return sign + Math.floor(seconds / 60) + ' min ' + Math.floor(seconds % 60) + ' s';
  };
  const price = (value) => (value === null ? '–' : String(Number(value.toPrecision(9))));
  const clock = (text) => (text === null ? '–' : new Date(text).toLocaleTimeString('en-GB'));

  const COLUMNS = ['State', 'Bid', 'Ask', 'Silence', 'Source age', 'Lost', 'Suspect since'];
  const newRow = (symbol) => {
    const word = make('strong', {});
    const reason = make('span', { class: 'reason' });
    const cells = COLUMNS.map((label) => make('td', { role: 'cell', 'data-label': label }));
    cells[0].append(word, reason);
    const element = make('tr', { role: 'row' }, make('th', { scope: 'row', role: 'rowheader' }, symbol), ...cells);
    return { element, word, reason, cells: cells.slice(1) };
  };
  const fill = (row, quote) => {
    const open = quote.verdict === 'open';
    row.word.className = open ? 'open' : 'closed';
    setText(row.word, open ? '● open' : '■ closed: ' + quote.code);
    setText(row.reason, quote.reason ?? '');
    const texts = [
      price(quote.bid),
      price(quote.ask),
      span(quote.silenceMs),
      span(quote.sourceAgeMs),
      quote.lost,
      clock(quote.suspectSince),
    ];
    texts.forEach((text, index) => setText(row.cells[index], text));
  };
  const showSymbols = (symbols) => {
    const body = byId('rows');
    const shown = new Set(symbols.map((quote) => quote.symbol));
    for (const [symbol, row] of rows) {
      if (shown.has(symbol)) continue;
      row.element.remove();
      rows.delete(symbol);
    }
    symbols.forEach((quote, index) => {
      if (!rows.has(quote.symbol)) rows.set(quote.symbol, newRow(quote.symbol));
      const row = rows.get(quote.symbol);
      if (body.children[index] !== row.element) body.insertBefore(row.element, body.children[index] ?? null);
      fill(row, quote);
    });
  };
  const lineText = (line) => {
    const since = line.silenceMs === null ? 'never heard' : span(line.silenceMs) + ' ago';
    return 'line ' + line.line + ': ' + (line.alive ? '● alive' : '■ silent') + ' (' + since + ')';
  };
  const showFeeds = (feeds) => {
    const items = feeds.map((feed) => {
      const alive = feed.lines.filter((line) => line.alive).length;
      const whole = alive === feed.lines.length;
      const state = whole ? '● alive' : alive === 0 ? '■ silent' : '▲ degraded';
      const facts = ['session ' + (feed.session ?? '–'), 'lost ' + feed.lost, ...feed.lines.map(lineText)];
      const word = make('strong', { class: whole ? 'open' : 'closed' }, state);
      return make('li', {}, make('b', {}, feed.feed), ' ', word, ' · ' + facts.join(' · '));
    });
    byId('feeds').replaceChildren(...items);
  };
  const show = (board) => {
    showFeeds(board.feeds);
    showSymbols(board.symbols);
    next = board.next;
    byId('next').disabled = next === null;
    byId('first').disabled = !view.after;
    const none = view.filter ? 'No symbol matches the filter.' : 'No symbol has had a quote yet.';
    setText(byId('count'), board.matching === 0 ? none : board.symbols.length + ' of ' + board.matching + ' symbols');
  };

  const say = (text, old) => {
    document.body.classList.toggle('old', old);
    setText(byId('connection'), text);
  };
  const query = () => new URLSearchParams(Object.entries(view).filter(([, text]) => text !== ''));
  const watchAge = () => {
    const silentMs = performance.now() - heardAt;
    if (heardAt > 0 && !document.hidden && silentMs > OLD_AFTER_MS) {
      say('No update since ' + new Date(Date.now() - silentMs).toLocaleTimeString('en-GB') + ': what is shown is old.', true);
    }
  };
  const close = () => {
    clearTimeout(again);
    if (stream) stream.close();
    stream = undefined;
  };
  const open = () => {
    close();
    stream = new EventSource('/v1/stream?' + query());
    stream.onmessage = (event) => {
      heardAt = performance.now();
      show(JSON.parse(event.data));
      say('● Live', false);
    };
    stream.onerror = () => {
      say('No connection: what is shown is old. Trying again.', true);
      // Refused, not merely broken: the browser itself does not try again then.
      if (stream.readyState === EventSource.CLOSED) again = setTimeout(open, TRY_AGAIN_MS);
    };
  };
  const look = (change) => {
    Object.assign(view, change);
    history.replaceState(null, '', '?' + query());
    open();
  };

  const asked = new URLSearchParams(location.search);
  form.elements.filter.value = asked.get('filter') ?? '';
  const limits = [...form.elements.limit.options].map((option) => option.value);
  if (limits.includes(asked.get('limit'))) form.elements.limit.value = asked.get('limit');
  // Read back: a field holds no more than it allows.
  Object.assign(view, {
    filter: form.elements.filter.value.slice(0, 64),
    after: (asked.get('after') ?? '').slice(0, 64),
    limit: form.elements.limit.value,
  });
  let typing;
  form.addEventListener('input', () => {
    clearTimeout(typing);
    const { filter, limit } = form.elements;
    typing = setTimeout(() => look({ filter: filter.value, limit: limit.value, after: '' }), TYPING_MS);
  });
  form.addEventListener('submit', (event) => event.preventDefault());
  byId('first').addEventListener('click', () => look({ after: '' }));
  byId('next').addEventListener('click', () => look({ after: next }));
  document.addEventListener('visibilitychange', () => (document.hidden ? close() : open()));
  setInterval(watchAge, 1000);
  open();
})();
`;
