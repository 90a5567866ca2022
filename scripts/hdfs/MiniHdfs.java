import java.io.File;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/** A name node and two data nodes on this machine: prints its WebHDFS address and runs until standard input ends. */
public class MiniHdfs {
    public static void main(String[] args) throws Exception {
        Configuration configuration = new Configuration();
        configuration.set("dfs.permissions.enabled", "true");
        configuration.setInt("dfs.replication", 1);
        MiniDFSCluster cluster = new MiniDFSCluster.Builder(configuration, new File(args[0])).numDataNodes(2).build();
        cluster.waitActive();
        cluster.getFileSystem().mkdirs(new org.apache.hadoop.fs.Path("/user/oarfish"));
        cluster.getFileSystem().setOwner(new org.apache.hadoop.fs.Path("/user/oarfish"), "oarfish", "oarfish");
        System.out.println("hdfs://127.0.0.1:" + cluster.getNameNode().getHttpAddress().getPort());
        while (System.in.read() >= 0) { }
        cluster.shutdown();
    }
}
