import express from 'express';
import { Pool } from 'pg';

/**
 * The floor of a repeat: Express, pg, one indexed read of the stored answer, sent back. No authentication, no hash.
 * Arguments: database URL, port.
 */
const [connectionString = '', port = ''] = process.argv.slice(2);
const pool = new Pool({ connectionString, max: 16 });
const app = express();
app.use(express.json());
app.post('/orders/:accountId', async (request, response) => {
  const { clientOrderId } = request.body as { clientOrderId: string };
  const { rows } = await pool.query<{ status_code: number; body: string }>({
    name: 'bare',
    text: `select status_code, answer::text as body from idempotency_keys
           where account_id = $1 and client_order_id = $2`,
    values: [request.params.accountId, clientOrderId],
  });
  const [row] = rows;
  if (row === undefined) response.status(404).end();
  else response.status(row.status_code).type('application/json').send(row.body);
});
app.listen(Number(port), '127.0.0.1', () => {
  console.log('ready');
});
