"""Public numbers in files of Weights & Biases, MLflow and TensorBoard, by those packages. Missing ones are skipped by name."""
import pathlib
import unittest

import rldp
from test_module import DEMO, SMALL, InScratch
from test_tables import needs


class Logs(InScratch):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.run_ = rldp.run(DEMO, cls.path("logged"), quiet=True, **SMALL)

    @needs("tensorboard")
    def test_tensorboard(self):
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
        log = EventAccumulator(self.run_.log_to("tensorboard", self.path("boards")))
        log.Reload()
        noise = log.Scalars("noise_multiplier")
        self.assertEqual([one.step for one in noise], [1, 2, 3, 4, 5, 6])
        self.assertAlmostEqual(noise[0].value, self.run_.steps[1]["noise_multiplier"], 5)

    @needs("mlflow")
    def test_mlflow(self):
        import mlflow
        client = mlflow.tracking.MlflowClient(tracking_uri=self.run_.log_to("mlflow", self.path("mlflow")))
        [found] = client.search_runs([client.get_experiment_by_name("rldp").experiment_id])
        self.assertEqual(found.data.params["train.steps"], "6")
        self.assertEqual(found.data.metrics["final/guaranteed_epsilon"], self.run_.summary["guaranteed_epsilon"])
        self.assertEqual(len(client.get_metric_history(found.info.run_id, "noise_multiplier")), 6)

    @needs("wandb")
    def test_wandb(self):
        place = pathlib.Path(self.run_.log_to("wandb", self.path("wandb")))
        self.assertTrue(place.name.startswith("offline-run-"))
        [file] = place.glob("*.wandb")
        self.assertIn(b"noise_multiplier", file.read_bytes())


class Missing(unittest.TestCase):
    def test_a_package_that_is_not_there_is_named(self):
        import unittest.mock
        from rldp import logs
        with unittest.mock.patch("importlib.util.find_spec", return_value=None), self.assertRaisesRegex(rldp.Error, "wandb is not installed"):
            logs._need("wandb")
