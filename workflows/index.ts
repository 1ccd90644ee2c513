export { orderWorkflow } from './order-workflow';
export { lateExecutionsWorkflow } from './late-executions-workflow';
